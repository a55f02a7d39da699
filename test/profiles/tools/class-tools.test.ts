import { describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { toAtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { maskSecrets } from '../../../src/tools/schema/secrets.ts';
import { described } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const LAMP = described('ExtendedColorLight', { hasAllElements: true, device: { id: parseDeviceId('desk-lamp'), name: 'Desk lamp' } });
const PLAIN = described('OnOffLight', { device: { id: parseDeviceId('cellar'), name: 'Cellar' } });
const LOCK = described('DoorLock', { hasAllElements: true, device: { id: parseDeviceId('front-door'), name: 'Front door' } });
const THERMOSTAT = described('Thermostat', { hasAllElements: true, device: { id: parseDeviceId('heating'), name: 'Heating' } });
const COVER = described('WindowCovering', { hasAllElements: true, device: { id: parseDeviceId('blind'), name: 'Blind' } });
const house = () => new ToolHarness(LAMP, PLAIN, LOCK, THERMOSTAT, COVER).start();

describe('turn_on_light and turn_off_light', () => {
  test('turn on by name, dim to percent and color in one call', async () => {
    const hub = await house();
    const { result, effects } = await hub.call('turn_on_light', { device_id: 'desk LAMP', brightness: 40, color: 'red' });
    expect(hub.home.invoked.map(({ path, fields }) => [path.command, fields.level ?? fields.saturation])).toEqual([
      ['MoveToLevelWithOnOff', 102],
      ['MoveToHueAndSaturation', 254],
    ]);
    expect(result).toMatchObject({ success: true, state: { brightness: 40, saturation: 100 } });
    expect(effects.map((effect) => effect.permission)).toEqual(['device:control:desk-lamp', 'device:control:desk-lamp']);
  });

  test('brightness 0 turns off', async () => {
    const hub = await house();
    await hub.call('turn_on_light', { device_id: 'desk-lamp', brightness: 0 });
    await hub.call('turn_off_light', { device_id: 'cellar' });
    expect(hub.home.invoked.map(({ path }) => [path.device, path.command])).toEqual([
      ['desk-lamp', 'Off'],
      ['cellar', 'Off'],
    ]);
  });

  test('a device that is no light is refused with those that are', async () => {
    const hub = await house();
    await expect(hub.call('turn_on_light', { device_id: 'front-door' })).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
      details: { candidates: ['desk-lamp', 'cellar'] },
    });
    expect(hub.home.invoked).toEqual([]);
  });

  test('a light that cannot dim or color is refused before anything is sent', async () => {
    const hub = await house();
    await expect(hub.call('turn_on_light', { device_id: 'cellar', color: 'red' })).rejects.toThrow(/color/);
    await expect(hub.call('turn_on_light', { device_id: 'nowhere' })).rejects.toMatchObject({ code: 'DEVICE_NOT_FOUND' });
    expect(hub.home.invoked).toEqual([]);
  });
});

describe('set_thermostat', () => {
  test('sets mode and setpoint, and returns the present temperature', async () => {
    const hub = await house();
    hub.home.report({ device: THERMOSTAT.device.id, endpoint: 1, cluster: 'Thermostat', attribute: 'LocalTemperature' }, 1950);
    const { result } = await hub.call('set_thermostat', { device_id: 'Heating', target_temp: 21.5, mode: 'heat' });
    expect(hub.home.written.map(({ path, value }) => [path.attribute, value])).toEqual([
      ['SystemMode', 'Heat'],
      ['OccupiedHeatingSetpoint', 2150],
    ]);
    expect(result).toMatchObject({ success: true, current_temp: 19.5, unit: 'celsius' });
  });

  test('takes and returns Fahrenheit on request', async () => {
    const hub = await house();
    hub.home.report({ device: THERMOSTAT.device.id, endpoint: 1, cluster: 'Thermostat', attribute: 'LocalTemperature' }, 2000);
    const { result } = await hub.call('set_thermostat', { device_id: 'heating', target_temp: 70, mode: 'cool', unit: 'fahrenheit' });
    expect(hub.home.written.at(-1)).toMatchObject({ path: { attribute: 'OccupiedCoolingSetpoint' }, value: 2111 });
    expect(result).toMatchObject({ current_temp: 68, unit: 'fahrenheit' });
  });

  test('refuses nothing at all, too hot, and what is no thermostat', async () => {
    const hub = await house();
    await expect(hub.call('set_thermostat', { device_id: 'heating' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(hub.call('set_thermostat', { device_id: 'heating', target_temp: 70 })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/^target_temp: 70 °C is out.*if 70 °F is meant, give unit "fahrenheit"$/),
      details: { pointer: '/target_temp' },
    });
    await expect(hub.call('set_thermostat', { device_id: 'blind', target_temp: 20 })).rejects.toMatchObject({
      details: { candidates: ['heating'] },
    });
    expect(hub.home.written).toEqual([]);
  });
});

describe('a device that does not fit', () => {
  test.each([
    ['turn_on_light', 'blind', {}],
    ['turn_off_light', 'blind', {}],
    ['set_thermostat', 'desk-lamp', { target_temp: 20 }],
    ['set_cover', 'desk-lamp', { open_percent: 10 }],
  ])('makes %s name no device that the caller may not know of', async (name, device, given) => {
    const hub = await house();
    const knows = (permission: string) => permission.endsWith(`:${device}`);
    const onlyThis = { canSee: knows, may: knows };
    const refused = hub.call(name, { device_id: device, ...given }, onlyThis);
    await expect(refused).rejects.toMatchObject({ code: 'NOT_SUPPORTED', details: { candidates: [] } });
    await expect(refused).rejects.not.toThrow(/cellar|heating/);
  });
});

describe('set_cover', () => {
  test('100 is open: lift 0', async () => {
    const hub = await house();
    const { result } = await hub.call('set_cover', { device_id: 'blind', open_percent: 100 });
    expect(hub.home.invoked[0]).toMatchObject({ path: { command: 'GoToLiftPercentage' }, fields: { liftPercent100thsValue: 0 } });
    expect(result).toMatchObject({ success: true, state: { open_percent: 100 } });
  });
});

describe('control_device', () => {
  test('does any of the device’s own actions', async () => {
    const hub = await house();
    const { result } = await hub.call('control_device', { device_id: 'desk-lamp', command: 'set_brightness', params: { brightness: 40 } });
    expect(result).toMatchObject({ success: true, new_state: { brightness: 40 } });
    await hub.call('control_device', { device_id: 'desk-lamp', command: 'Off' });
    expect(hub.home.invoked.map(({ path }) => path.command)).toEqual(['MoveToLevelWithOnOff', 'Off']);
  });

  test('on a lock is an unlock: dangerous, for that very device', async () => {
    const hub = await house();
    const { effects } = await hub.call('control_device', { device_id: 'Front door', command: 'unlock', params: { pin: '1234' } });
    expect(effects).toEqual([
      {
        permission: 'device:control:front-door',
        risk: 'dangerous',
        target: 'front-door/1/DoorLock/UnlockDoor',
        device: 'front-door',
        values: { lock_state: 'unlocked' },
      },
    ]);
    const definition = hub.registry.resolve('control_device').definition;
    expect(definition.parameters).toMatchObject({ properties: { params: { 'x-secret-members': true } } });
    expect(maskSecrets(definition.parameters, { device_id: 'door', params: { pin: '1234', PINCode: '1234' } }, () => '*')).toEqual({
      device_id: 'door',
      params: { pin: '*', PINCode: '*' },
    });
  });

  test('checks the action’s own parameters, and names actions for an unknown one', async () => {
    const hub = await house();
    await expect(
      hub.call('control_device', { device_id: 'desk-lamp', command: 'set_brightness', params: { brightness: 140 } }),
    ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(hub.call('control_device', { device_id: 'desk-lamp', command: 'turn_onn' })).rejects.toThrow(/turn_on/);
    expect(hub.home.invoked).toEqual([]);
  });
});

test('every documented example is a call that its tool takes, in a home with such devices', async () => {
  const [thermostat, blind] = [parseDeviceId('hall-thermostat'), parseDeviceId('bedroom-blind')];
  const hub = await new ToolHarness(
    LAMP,
    described('Thermostat', { hasAllElements: true, device: { id: thermostat, name: 'Hall thermostat' } }),
    described('WindowCovering', { hasAllElements: true, device: { id: blind, name: 'Bedroom blind' } }),
  ).start();
  const calls = hub.registry
    .list({ limit: 500 })
    .tools.flatMap(({ id, definition }) => definition.metadata.examples.map(({ params }) => ({ id, params: params as JsonObject })));
  expect(calls.length).toBeGreaterThan(20);
  for (const { id, params } of calls) {
    const fitting = id.includes('set_thermostat') ? thermostat : id.includes('set_cover') ? blind : 'desk-lamp';
    // Examples for any device name none, so that nobody calls what another home has.
    const given = params.device_id === '<device id>' ? { ...params, device_id: fitting } : params;
    const answer = await hub.call(id, given).catch((error: unknown) => toAtmoError(error));
    expect(answer, `${id} ${JSON.stringify(params)}`).toMatchObject({ result: expect.anything() });
  }
});
