import { describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import type { KeyValueStore } from '../../../src/core/storage/key-value-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { described } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const at = (type: string, id: string, area: string) =>
  described(type, { hasAllElements: true, device: { id: parseDeviceId(id), name: id.replaceAll('-', ' '), area } });

const HOUSE = [
  at('ExtendedColorLight', 'desk-lamp', 'Study'),
  at('OnOffLight', 'study-light', 'Study'),
  at('DoorLock', 'front-door', 'Hall'),
  at('Thermostat', 'heating', 'Study'),
  at('WindowCovering', 'blind', 'Bedroom'),
  at('CookSurface', 'stove', 'Kitchen'),
  at('Speaker', 'speaker', 'Hall'),
] as const;

type Told = readonly (readonly [device: string, path: string, value: Json])[];
const NOW: Told = [
  ['desk-lamp', 'OnOff.OnOff', true],
  ['desk-lamp', 'LevelControl.CurrentLevel', 102],
  ['desk-lamp', 'ColorControl.ColorMode', 'CurrentHueAndCurrentSaturation'],
  ['desk-lamp', 'ColorControl.CurrentHue', 85],
  ['desk-lamp', 'ColorControl.CurrentSaturation', 254],
  ['study-light', 'OnOff.OnOff', false],
  ['blind', 'WindowCovering.CurrentPositionLiftPercent100ths', 7000],
  ['heating', 'Thermostat.SystemMode', 'Heat'],
  ['heating', 'Thermostat.OccupiedHeatingSetpoint', 2050],
  ['stove', 'OnOff.OnOff', true],
  ['speaker', 'LevelControl.CurrentLevel', 127],
];

async function house(store: KeyValueStore = new MemoryKeyValueStore(new ManualClock())) {
  const hub = await new ToolHarness(store, ...HOUSE).start();
  for (const [id, path, value] of NOW) {
    const [cluster = '', attribute = ''] = path.split('.');
    hub.home.report({ device: parseDeviceId(id), endpoint: 1, cluster, attribute }, value);
  }
  return hub;
}

type Hub = Awaited<ReturnType<typeof house>>;

const sent = (hub: Hub) => [...hub.home.invoked.map(({ path }) => `${path.device} ${path.command}`)].sort();
const result = async (answer: Promise<{ readonly result: Json }>) => (await answer).result as JsonObject;
const GOOD_NIGHT = {
  name: 'Good night',
  actions: [
    { device: 'desk lamp', action: 'turn_off' },
    { device: 'blind', action: 'set_position', params: { open_percent: 0 } },
  ],
};
const WITH_LOCK = { name: 'Leave', actions: [...GOOD_NIGHT.actions, { device: 'front-door', action: 'lock' }] };

describe('save_scene from what is now', () => {
  test('holds on and off, brightness, colour, position, mode and setpoint, and never what a stove or a lock is', async () => {
    const hub = await house();
    const { actions, left_out } = await result(hub.call('save_scene', { name: 'Now', area: 'house' }));
    const told = (actions as unknown as { device_id: string; action: string; params: JsonObject }[]).map((one) => [
      one.device_id,
      one.action,
      one.params,
    ]);
    expect(told).toEqual([
      ['blind', 'set_position', { open_percent: 30 }],
      ['desk-lamp', 'set_brightness', { brightness: 40 }],
      ['desk-lamp', 'set_color', { hue: 120, saturation: 100 }],
      ['heating', 'set_mode', { mode: 'heat' }],
      ['heating', 'set_temperature', { temperature: 20.5, setpoint: 'heat' }],
      ['speaker', 'set_volume', { volume: 50 }],
      ['study-light', 'turn_off', {}],
    ]);
    expect(left_out).toEqual([]);
  });

  test('says which devices it could not read, and saves nothing if there is none left', async () => {
    const hub = await house();
    const { left_out } = await result(hub.call('save_scene', { name: 'Some', devices: ['study-light', 'front-door'] }));
    expect(left_out).toEqual(['front-door: it has no state that a scene can hold']);
    hub.home.readFailure = new AtmoError('DEVICE_UNREACHABLE', 'silent');
    await expect(hub.call('save_scene', { name: 'Other', devices: ['study-light'] })).rejects.toThrow(/study-light: silent/);
    expect((await result(hub.call('list_scenes'))).scenes).toHaveLength(1);
  });

  test('what was saved is brought back when the scene runs', async () => {
    const hub = await house();
    await hub.call('save_scene', { name: 'Now', area: 'study' });
    await hub.call('control_area', { area: 'study', what: 'lights', action: 'off' });
    hub.home.invoked.length = 0;
    const run = await result(hub.call('run_scene', { scene: 'now' }));
    expect(sent(hub)).toEqual(['desk-lamp MoveToHueAndSaturation', 'desk-lamp MoveToLevelWithOnOff', 'study-light Off']);
    // The lamp of the fake home does not turn itself on with its level, and the answer says so.
    expect(run).toMatchObject({ success: true, scene: 'now', counts: { settled: 2, not_settled: 1, failed: 0 } });
    expect(run.members).toContainEqual(expect.objectContaining({ device_id: 'desk-lamp', outcome: 'not_settled' }));
  });
});

describe('a scene from a list', () => {
  test('is a tool by name with the effects of its members, and survives a restart and renamed devices', async () => {
    const store = new MemoryKeyValueStore(new ManualClock());
    const before = await house(store);
    expect(await result(before.call('save_scene', GOOD_NIGHT))).toMatchObject({ scene: 'good_night', tool: 'scene:good_night' });
    const hub = await house(store);
    hub.home.change(parseDeviceId('desk-lamp'), { name: 'Other' });
    const { tool, params, effects } = hub.prepare('scene:good_night@1.0.0', {});
    expect(tool.definition.metadata.title).toBe('Good night');
    expect(params.devices).toEqual(['blind', 'desk-lamp']);
    expect(effects.map(({ target, risk }) => [target, risk])).toEqual([
      ['desk-lamp/1/OnOff/Off', 'low'],
      ['blind/1/WindowCovering/GoToLiftPercentage', 'low'],
    ]);
    await hub.call('scene:good_night');
    expect(sent(hub)).toEqual(['blind GoToLiftPercentage', 'desk-lamp Off']);
  });

  test('never acts on another endpoint than the one for which it was saved', async () => {
    const store = new MemoryKeyValueStore(new ManualClock());
    const before = await house(store);
    await before.call('save_scene', { name: 'Dark', actions: [{ device: 'study light', action: 'turn_off' }] });
    const stored = JSON.stringify(store.get('scenes', 'dark'));
    store.set('scenes', 'dark', JSON.parse(stored.replace('"key":"1/', '"key":"2/')));
    const hub = await house(store);
    await expect(hub.call('run_scene', { scene: 'dark' })).rejects.toThrow('study light (It can no longer turn off)');
    expect(sent(hub)).toEqual([]);
  });

  test('with a lock is dangerous when it is saved, run and run by its tool', async () => {
    const hub = await house();
    const risks = (name: string, params: JsonObject) => hub.prepare(name, params).effects.map(({ risk }) => risk);
    expect(risks('save_scene', WITH_LOCK)).toContain('dangerous');
    await hub.call('save_scene', WITH_LOCK);
    for (const [name, params] of [
      ['run_scene', { scene: 'Leave' }],
      ['scene:leave', {}],
    ] as const)
      expect(risks(name, params)).toContain('dangerous');
    expect(risks('run_scene', { scene: 'Leave', devices: ['blind'] })).toEqual(['low']);
  });

  test('keeps no PIN', async () => {
    const hub = await house();
    const actions = [{ device: 'front-door', action: 'unlock', params: { pin: '1234' } }];
    await expect(hub.call('save_scene', { name: 'Open', actions })).rejects.toThrow(/keeps no PIN/);
  });

  test.each<[string, JsonObject, string]>([
    ['nothing', { name: 'Empty' }, 'VALIDATION_ERROR'],
    ['two sources', { ...GOOD_NIGHT, area: 'study' }, 'VALIDATION_ERROR'],
    ['an unknown action', { name: 'x', actions: [{ device: 'blind', action: 'sing' }] }, 'VALIDATION_ERROR'],
    ['an unknown device', { name: 'x', actions: [{ device: 'ghost', action: 'sing' }] }, 'DEVICE_NOT_FOUND'],
  ])('is refused with %s', async (_, params, code) => {
    const hub = await house();
    await expect(hub.call('save_scene', params)).rejects.toMatchObject({ code });
  });

  test('a name that another scene has is refused, and the other one stays', async () => {
    const hub = await house();
    await hub.call('save_scene', GOOD_NIGHT);
    await expect(hub.call('save_scene', { ...WITH_LOCK, name: 'good NIGHT' })).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { scene: 'good_night' },
    });
    await hub.call('save_scene', { ...GOOD_NIGHT, name: 'good-night' });
    const { scenes } = await result(hub.call('list_scenes'));
    expect((scenes as JsonObject[]).map(({ scene }) => scene)).toEqual(['good_night', 'good_night_2']);
  });
});

describe('a scene that was approved', () => {
  test('does not run with another content', async () => {
    const hub = await house();
    await hub.call('save_scene', WITH_LOCK);
    const { params } = hub.prepare('run_scene', { scene: 'Leave' });
    const [tool, first] = [hub.registry.resolve('scene:leave'), hub.registry.resolve('scene:leave').implementation?.()];
    await hub.call('change_scene', { scene: 'Leave', actions: GOOD_NIGHT.actions });
    await expect(hub.call('run_scene', params)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(tool.implementation?.()).not.toBe(first);
  });

  test.each(['run_scene', 'scene:good_night'])('and changes right before it runs with %s does not run', async (name) => {
    const hub = await house();
    await hub.call('save_scene', GOOD_NIGHT);
    const prepared = hub.prepare(name, name === 'run_scene' ? { scene: 'good_night' } : {});
    await hub.call('change_scene', {
      scene: 'good_night',
      actions: [{ device: 'blind', action: 'set_position', params: { open_percent: 100 } }],
    });
    await expect(hub.run(prepared)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(sent(hub)).toEqual([]);
  });
});

describe('change_scene and delete_scene', () => {
  test('rename, replace the content and delete; the tool goes with the scene', async () => {
    const hub = await house();
    await hub.call('save_scene', GOOD_NIGHT);
    expect(await result(hub.call('change_scene', { scene: 'good night', name: 'Sleep' }))).toMatchObject({
      scene: 'good_night',
      name: 'Sleep',
    });
    await hub.call('change_scene', { scene: 'Sleep', devices: ['study-light'] });
    await hub.call('scene:good_night');
    expect(sent(hub)).toEqual(['study-light Off', 'study-light StoreScene']);
    await hub.call('delete_scene', { scene: 'sleep' });
    expect((await result(hub.call('list_scenes'))).scenes).toEqual([]);
    expect(() => hub.prepare('scene:good_night', {})).toThrow(/scene:good_night/);
    await expect(hub.call('run_scene', { scene: 'sleep' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('a scene of which a device is gone is still renamed, run and deleted', async () => {
    const hub = await house();
    await hub.call('save_scene', GOOD_NIGHT);
    hub.home.remove(parseDeviceId('blind'));
    await hub.call('change_scene', { scene: 'good_night', name: 'Sleep' });
    expect(await result(hub.call('run_scene', { scene: 'Sleep' }))).toMatchObject({ counts: { settled: 1 } });
    await hub.call('delete_scene', { scene: 'Sleep' });
  });
});

describe('a caller with few grants', () => {
  const few = ['device:read:*', 'device:control:desk-lamp'];

  test('runs what it may control of a scene, and hears what was skipped', async () => {
    const hub = await house();
    await hub.call('save_scene', WITH_LOCK);
    const run = await result(hub.callAs(few, 'run_scene', { scene: 'Leave' }));
    expect(sent(hub)).toEqual(['desk-lamp Off']);
    expect(run).toMatchObject({ counts: { settled: 1, skipped: 2 } });
    await expect(hub.callAs(['device:read:*', 'device:control:heating'], 'run_scene', { scene: 'Leave' })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
  });

  test('neither saves, changes nor deletes a scene with devices of others', async () => {
    const hub = await house();
    await hub.call('save_scene', GOOD_NIGHT);
    for (const [name, params] of [
      ['save_scene', { ...GOOD_NIGHT, name: 'Mine' }],
      ['save_scene', { name: 'Mine', devices: ['heating'] }],
      ['change_scene', { scene: 'good_night', name: 'Mine' }],
      ['delete_scene', { scene: 'good_night' }],
    ] as const)
      await expect(hub.callAs(few, name, params)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect((await result(hub.callAs(few, 'list_scenes'))).scenes).toHaveLength(1);
    expect((await result(hub.callAs(['device:control:heating'], 'list_scenes'))).scenes).toEqual([]);
  });

  test('hears nothing of devices that it may not know of', async () => {
    const hub = await house();
    await hub.call('save_scene', WITH_LOCK);
    const run = await result(hub.callAs(['device:control:desk-lamp'], 'run_scene', { scene: 'Leave' }));
    expect(JSON.stringify(run)).not.toMatch(/blind|door/);
  });
});

/** A state that ends with the process at its nth write: before it, or after it. */
class KilledStore extends MemoryKeyValueStore {
  writesLeft: number;
  readonly #isWritten: boolean;

  constructor(clock: ManualClock, { writes, isWritten }: { writes: number; isWritten: boolean }) {
    super(clock);
    this.writesLeft = writes;
    this.#isWritten = isWritten;
  }

  override set(space: string, key: string, value: Json): void {
    const isAlive = space !== 'scenes' || this.writesLeft-- > 0;
    if (isAlive || this.#isWritten) super.set(space, key, value);
    if (!isAlive) throw new AtmoError('STORAGE_FAILED', 'killed');
  }
}

describe('a hub that is killed', () => {
  test.each([0, 1, 2].flatMap((writes) => [true, false].map((isWritten) => ({ writes, isWritten }))))(
    'at write %j has the scenes that it acknowledged, whole, and at most the one of that write',
    async ({ writes, isWritten }) => {
      const store = new KilledStore(new ManualClock(), { writes, isWritten });
      const hub = await house(store);
      const acknowledged: string[] = [];
      for (const name of ['One', 'Two', 'Three']) {
        await hub.call('save_scene', { ...GOOD_NIGHT, name }).then(
          () => acknowledged.push(name),
          () => undefined,
        );
        if (acknowledged.length < writes + 1 && name !== ['One', 'Two', 'Three'][writes]) continue;
        break;
      }
      store.writesLeft = Number.MAX_SAFE_INTEGER;
      const again = await house(store);
      const { scenes } = await result(again.call('list_scenes'));
      const names = (scenes as JsonObject[]).map(({ name }) => name);
      expect(acknowledged).toHaveLength(writes);
      expect(names).toEqual(expect.arrayContaining(acknowledged));
      expect(names).toHaveLength(writes + (isWritten ? 1 : 0));
      for (const scene of scenes as JsonObject[]) expect(scene.actions).toHaveLength(2);
    },
  );
});
