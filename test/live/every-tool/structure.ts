import { describe, expect, test } from 'vitest';
import type { OwnedHome } from './owned-home.ts';

const SOON = { interval: 200 };

/** Devices behind a bridge and parts of a device: how their tools come, go and are called. */
export function describeStructure(ownedHome: () => OwnedHome): void {
  const namesOf = async (name: string): Promise<readonly string[]> =>
    (await ownedHome().devices()).find((device) => device.name === name)?.tools ?? [];

  describe('bridges and composed devices', () => {
    test('a device that comes to the bridge has tools that work, until it goes', async () => {
      const { hub } = ownedHome();
      const bridge = ownedHome().device('Attic bridge');
      await bridge.addBridged({ id: 'spot', name: 'Attic spot', type: 'dimmable-light' });
      await expect.poll(() => namesOf('Attic spot'), SOON).toContain('attic_spot_set_brightness');
      await hub.result('matter:attic_spot_set_brightness', { brightness: 40 });
      expect(await bridge.get('spot', 'LevelControl', 'CurrentLevel')).toBe(102);
      await bridge.removeBridged('spot');
      await expect.poll(() => namesOf('Attic spot'), SOON).toEqual([]);
      expect(await ownedHome().refusal('matter:attic_spot_turn_on')).toMatchObject({ code: 'TOOL_NOT_FOUND' });
      expect(await ownedHome().refusal('core:turn_on_light', { device_id: 'Attic spot' })).toMatchObject({ code: 'DEVICE_NOT_FOUND' });
    });

    test('parts of a device are told apart, and each does what is meant for it', async () => {
      const { hub } = ownedHome();
      const fridge = ownedHome().device('Fridge');
      await hub.result('matter:fridge_cabinet_1_set_temperature', { temperature: 6 });
      await hub.result('matter:fridge_cabinet_2_set_temperature', { temperature: -21 });
      expect(await fridge.get('fridge', 'TemperatureControl', 'TemperatureSetpoint')).toBe(600);
      expect(await fridge.get('freezer', 'TemperatureControl', 'TemperatureSetpoint')).toBe(-2100);
      expect(await ownedHome().refusal('matter:fridge_cabinet_1_set_temperature', { temperature: -21 })).toMatchObject({
        code: 'VALIDATION_ERROR',
        message: expect.stringMatching(/1 to 8 °C/),
      });
    });

    test('a renamed device and its parts have new names, and the old ones go on meaning it after a restart', async () => {
      const { hub } = ownedHome();
      await hub.result('hub:rename_device', { device_id: 'attic-plug', name: 'Gable plug' });
      await hub.result('hub:rename_device', { device_id: 'fridge', name: 'Icebox' });
      await expect.poll(() => namesOf('Gable plug'), SOON).toContain('gable_plug_turn_on');
      await expect.poll(() => namesOf('Icebox cabinet 2'), SOON).toContain('icebox_cabinet_2_set_temperature');
      const plug = ownedHome().device('Attic bridge');
      for (const [tool, isOn] of [
        ['gable_plug_turn_off', false],
        ['attic_plug_turn_on', true],
      ] as const) {
        await hub.result(`matter:${tool}`);
        expect(await plug.get('attic-plug', 'OnOff', 'OnOff'), tool).toBe(isOn);
      }
      const before = await ownedHome().settledDevices();
      await ownedHome().restartHub();
      await expect.poll(() => ownedHome().devices(), { timeout: 120_000, interval: 3_000 }).toEqual(before);
      const restarted = ownedHome().hub;
      await expect.poll(async () => (await restarted.call('matter:gable_plug_turn_off')).status, SOON).toBe('success');
      expect(await plug.get('attic-plug', 'OnOff', 'OnOff')).toBe(false);
      await restarted.result('matter:attic_plug_turn_on');
      expect(await plug.get('attic-plug', 'OnOff', 'OnOff')).toBe(true);
    }, 240_000);
  });
}
