import { describe, expect, test, vi } from 'vitest';
import type { CommandPath } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { described } from '../device-fixtures.ts';
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
