import { describe, expect, test, vi } from 'vitest';
import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import type { CommandPath } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import type { CompiledDevice } from '../../../src/profiles/compile/compiled-device.ts';
import type { RecallContext } from '../../../src/profiles/home/scene-store.ts';
import { DeviceScenes } from '../../../src/profiles/tools/device-scenes.ts';
import { captureDevice } from '../../../src/profiles/tools/scene-capture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { NO_DEVICE_FACTS } from '../../no-device-facts.ts';
import { described, homeWith } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const at = (type: string, id: string) =>
  described(type, { hasAllElements: true, device: { id: parseDeviceId(id), name: id, area: 'Study' } });
const DEVICES = [at('OnOffLight', 'desk'), at('OnOffLight', 'shelf'), at('Thermostat', 'heating')];
const onOff = (id: string) => ({ device: parseDeviceId(id), endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' });

/** Lamps that keep scenes; each answers StoreScene as `status` says, and a recall only if it has the scene. */
async function study(status: Json = 0) {
  const hub = await new ToolHarness(new MemoryKeyValueStore(new ManualClock()), ...DEVICES).start();
  const kept = new Map<string, Json>();
  const invoke = hub.home.invoke.bind(hub.home);
  vi.spyOn(hub.home, 'invoke').mockImplementation(async (path: CommandPath, fields, options) => {
    options.signal.throwIfAborted();
    const answer = await invoke(path, fields, options);
    const key = `${path.device} ${fields.sceneId}`;
    if (path.command === 'StoreScene') {
      if (status === 0) kept.set(key, hub.home.cached(onOff(path.device))?.value ?? null);
      return { status, groupId: 0, sceneId: fields.sceneId ?? null };
    }
    if (path.command !== 'RecallScene') return answer;
    if (!kept.has(key)) throw new AtmoError('CLUSTER_STATUS', 'There is no such scene', { status: 'NotFound' });
    hub.home.report(onOff(path.device), kept.get(key) ?? null);
    return null;
  });
  const light = (id: string, isOn: boolean) => hub.home.report(onOff(id), isOn);
  for (const id of ['desk', 'shelf']) light(id, true);
  hub.home.report({ device: parseDeviceId('heating'), endpoint: 1, cluster: 'Thermostat', attribute: 'SystemMode' }, 'Off');
  await hub.call('save_scene', { name: 'Work', area: 'Study' });
  for (const id of ['desk', 'shelf']) light(id, false);
  const stored = sent(hub);
  hub.home.invoked.length = 0;
  return { hub, kept, stored };
}

const sent = (hub: ToolHarness) => hub.home.invoked.map(({ path }) => `${path.device} ${path.command}`).sort();
const run = async (hub: ToolHarness, permissions: readonly string[] = ['device:control:*', 'device:read:*']) =>
  (await hub.callAs(permissions, 'scene:work')).result as JsonObject;

describe('a scene that lamps keep', () => {
  test('is stored in the lamps alone, and one command brings each back', async () => {
    const { hub, stored } = await study();
    expect(stored).toEqual(['desk StoreScene', 'shelf StoreScene']);
    expect(await run(hub)).toMatchObject({ success: true });
    expect(sent(hub)).toEqual(['desk RecallScene', 'shelf RecallScene']);
    expect(['desk', 'shelf'].map((id) => hub.home.cached(onOff(id))?.value)).toEqual([true, true]);
  });

  test('is recalled on no lamp that the caller may not control', async () => {
    const { hub } = await study();
    expect(await run(hub, ['device:control:desk', 'device:read:*'])).toMatchObject({ counts: { settled: 1, skipped: 2 } });
    expect(sent(hub)).toEqual(['desk RecallScene']);
  });

  test('is not recalled on a lamp whose table is full, which gets its commands', async () => {
    const { hub } = await study('ResourceExhausted');
    await run(hub);
    expect(sent(hub)).toEqual(['desk On', 'shelf On']);
  });

  test('is asked of a lamp that has lost it once, and not again', async () => {
    const { hub, kept } = await study();
    for (const key of [...kept.keys()]) if (key.startsWith('shelf')) kept.delete(key);
    await run(hub);
    expect(sent(hub)).toEqual(['desk RecallScene', 'shelf On', 'shelf RecallScene']);
    hub.home.invoked.length = 0;
    await run(hub);
    expect(sent(hub)).toEqual(['desk RecallScene', 'shelf On']);
  });

  test('is asked again of a lamp that did not answer', async () => {
    const { hub } = await study();
    hub.home.failure = new AtmoError('DEVICE_UNREACHABLE', 'silent');
    await expect(run(hub)).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
    hub.home.failure = undefined;
    await run(hub);
    expect(sent(hub)).toEqual(['desk RecallScene', 'shelf RecallScene']);
  });

  test('leaves no lamp in another state because the caller goes while the lamp is read back', async () => {
    const { hub, kept } = await study();
    for (const key of kept.keys()) kept.set(key, false);
    const read = hub.home.read.bind(hub.home);
    vi.spyOn(hub.home, 'read').mockImplementation(async (paths, options) => {
      hub.abort.abort();
      options.signal.throwIfAborted();
      return read(paths, options);
    });
    await expect(run(hub)).rejects.toThrow();
    await vi.waitFor(() => {
      hub.clock.advance(1000);
      expect(['desk', 'shelf'].map((id) => hub.home.cached(onOff(id))?.value)).toEqual([true, true]);
    });
  });

  test('is followed by no further command to a lamp without it once the caller has gone', async () => {
    const { hub } = await study('ResourceExhausted');
    const signals: AbortSignal[] = [];
    vi.spyOn(hub.home, 'invoke').mockImplementation(async (_path, _fields, { signal }) => {
      signals.push(signal);
      hub.abort.abort();
      return null;
    });
    await expect(run(hub)).rejects.toThrow();
    expect(signals.map(({ aborted }) => aborted)).toContain(true);
    expect(signals.map(({ aborted }) => aborted)).not.toContain(false);
  });

  test('is forgotten with the scene, and where it becomes a list of actions', async () => {
    for (const [name, params] of [
      ['delete_scene', { scene: 'work' }],
      ['change_scene', { scene: 'work', actions: [{ device: 'desk', action: 'turn_off' }] }],
    ] as const) {
      const { hub } = await study();
      await hub.call(name, params);
      expect(sent(hub)).toEqual(['desk RemoveScene', 'shelf RemoveScene']);
    }
  });
});

const ON = { 'OnOff.OnOff': true, 'LevelControl.CurrentLevel': 100 };
const WARM = { ...ON, 'ColorControl.ColorMode': 'ColorTemperatureMireds', 'ColorControl.ColorTemperatureMireds': 370 };

/** A device whose state is saved as a scene that it is to keep. */
async function saved(type: string, told: Readonly<Record<string, Json>>, change = (compiled: CompiledDevice) => compiled) {
  const { home, compiled: plain, id } = homeWith(described(type, { hasAllElements: true, clusters: ['ScenesManagement'] }), told);
  const compiled = change(plain);
  const signal = new AbortController().signal;
  const clock = new ManualClock();
  const scenes = new DeviceScenes({ store: new MemoryKeyValueStore(clock), access: home });
  const scene = { id: 'now', name: 'Now', changedAtMs: 0, actions: await captureDevice(compiled, { access: home, signal }) };
  const stores = (beforeIt: () => void = () => {}) => {
    const invoke = home.invoke.bind(home);
    vi.spyOn(home, 'invoke').mockImplementation(async (path, fields, options) => {
      if (path.command === 'StoreScene') beforeIt();
      await invoke(path, fields, options);
      return { status: 0 };
    });
  };
  const keep = () => scenes.keep(scene, { get: () => compiled }, signal);
  const recall = (allows: RecallContext['allows'] = () => true, present = compiled) =>
    scenes.recall(scene, present, { signal, clock, allows });
  return { home, id, compiled, scene, stores, keep, recall, commands: () => home.invoked.map(({ path }) => path.command) };
}

/** The device with the risk of an opener: switching it on opens a garage. */
const opener = (compiled: CompiledDevice): CompiledDevice => ({
  ...compiled,
  tools: compiled.tools.map((tool) => (tool.action === 'turn_on' ? { ...tool, risk: 'dangerous' } : tool)),
});

describe('a device', () => {
  test.each<[string, string, Readonly<Record<string, Json>>]>([
    ['a plug that is off', 'OnOffPlugInUnit', { 'OnOff.OnOff': false }],
    ['a light with a colour temperature', 'ExtendedColorLight', WARM],
  ])('keeps and recalls a scene: %s', async (_, type, told) => {
    const one = await saved(type, told);
    one.stores();
    await one.keep();
    expect(await one.recall()).toBe('shown');
    expect(one.commands()).toEqual(['StoreScene', 'RecallScene']);
  });

  test('whose switching on needs an approval keeps no scene in which it is off', async () => {
    const one = await saved('OnOffPlugInUnit', { 'OnOff.OnOff': false }, opener);
    one.stores();
    expect(one.scene.actions).toMatchObject([{ action: 'turn_off' }]);
    await one.keep();
    expect([await one.recall(), one.commands()]).toEqual(['not_asked', []]);
  });

  test('is asked for no scene once switching it on needs an approval', async () => {
    const one = await saved('OnOffPlugInUnit', { 'OnOff.OnOff': false });
    one.stores();
    await one.keep();
    expect([await one.recall(() => true, opener(one.compiled)), one.commands()]).toEqual(['not_asked', ['StoreScene']]);
  });

  test('keeps no scene that does not hold its colour', async () => {
    const one = await saved('ExtendedColorLight', { ...ON, 'ColorControl.ColorMode': 'CurrentXAndCurrentY' });
    one.stores();
    expect(one.scene.actions).toMatchObject([{ action: 'set_brightness' }]);
    await one.keep();
    expect(one.commands()).toEqual([]);
  });

  test('keeps nothing besides light in a scene: an air conditioner that is off', async () => {
    const one = await saved('RoomAirConditioner', { 'OnOff.OnOff': false });
    one.stores();
    await one.keep();
    expect(one.commands()).toEqual([]);
  });

  test('that was switched right before it stored the scene forgets it again', async () => {
    const one = await saved('OnOffPlugInUnit', { 'OnOff.OnOff': false });
    one.stores(() => one.home.report({ device: one.id, endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' }, true));
    await one.keep();
    expect([await one.recall(), one.commands()]).toEqual(['not_asked', ['StoreScene', 'RemoveScene']]);
  });

  test.each([
    ['any state of light may follow', '{ effect: deny, when: { value: { name: brightness, above: 80 } } }', false],
    ['a command may follow that needs an approval', '{ effect: approve, when: { action: OnOff/On } }', false],
    ['a recall is forbidden', '{ effect: deny, when: { action: ScenesManagement/RecallScene } }', false],
    ['a rule is about other devices', '{ effect: deny, when: { action: DoorLock/UnlockDoor } }', true],
    ['agents may only switch off', '{ effect: allow, when: { action: OnOff/Off } }\ndefault: deny', false],
  ])('is asked for its scene only if the rules allow all of it: %s', async (_, rule, isAsked) => {
    const one = await saved('ExtendedColorLight', WARM);
    one.stores();
    await one.keep();
    const { set } = compileRules(`rules:\n- ${rule.replace('{', '{ name: r,')}`, 'rules.yaml');
    const call = { principal: { ...OWNER, kind: 'agent' as const }, toolId: 'scene:now@1.0.0', formerToolIds: [], params: {} };
    const recalled = await one.recall((effects) => set.judge({ ...call, effects }, { facts: NO_DEVICE_FACTS, minute: 0 }).kind === 'allow');
    expect([recalled, one.commands()]).toEqual([isAsked ? 'shown' : 'not_asked', isAsked ? ['StoreScene', 'RecallScene'] : ['StoreScene']]);
  });
});
