import { describe, expect, test } from 'vitest';
import type { DeviceAdministration, DeviceEndpoint } from '../../../src/core/devices/device-administration.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError, type ErrorCode } from '../../../src/core/errors.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { KeyValueStore } from '../../../src/core/storage/key-value-store.ts';
import type { PlannedDevice } from '../../../src/matter/devices/device-composition.ts';
import { DeviceStore } from '../../../src/matter/devices/device-store.ts';
import { DeviceNameRegistry, type ToolToName } from '../../../src/profiles/home/device-name-registry.ts';
import { SceneStore } from '../../../src/profiles/home/scene-store.ts';
import { DeviceReplacement } from '../../../src/tools/builtin/device-replacement.ts';
import { KilledStore } from '../../auth/people/people-fixture.ts';
import { MemoryStore } from '../../matter/memory-store.ts';
import { described } from '../../profiles/device-fixtures.ts';

const FACTS = { label: '', vendor: { id: 1, name: '' }, product: { id: 1, name: 'Lamp' }, serial: '', softwareVersion: '', uniqueId: '' };
const planned = (key: string, label: string): PlannedDevice => {
  const facts = { ...FACTS, label };
  return { key, kind: 'node', nodeId: key, endpoints: [0, 1], label, productName: 'Lamp', facts, deviceTypes: ['OnOffLight'] };
};
const never = new AbortController().signal;
const LAMP = parseDeviceId('lamp');
const NEW = parseDeviceId('lamp-2');

const onEndpoints = (...endpoints: readonly number[]) =>
  endpoints.map((endpoint) => ({ key: `${endpoint}/OnOff/turn_on`, action: 'turn_on', shortForms: [] }));
/** The new device has the counterparts of both outlets one endpoint further. */
const toolsOf: Readonly<Record<string, readonly ToolToName[]>> = { [LAMP]: onEndpoints(1, 2), [NEW]: onEndpoints(2, 3) };
const SCENE_IDS = ['evening', 'morning'];
const keysIn = (home: ReturnType<typeof hub>) => SCENE_IDS.map((id) => home.scenes.get(id)?.actions.map(({ key }) => key));

/** Nodes of a fabric, which outlive the process of a hub. */
const fabric = () => new Map([planned('1', 'Lamp'), planned('2', 'Lamp 2')].map((plan) => [plan.key, plan]));

/** A hub's devices and names as they are after a start. */
function hub(store: KeyValueStore, nodes: Map<string, PlannedDevice>, answers: readonly (ErrorCode | 'left')[] = ['left']) {
  const devices = new DeviceStore(store);
  const names = new DeviceNameRegistry(store);
  const scenes = new SceneStore(store);
  const joined: (DeviceEndpoint & { readonly group: number })[] = [];
  const left = [...answers];
  const forced: DeviceId[] = [];
  const list = (): Device[] =>
    [...nodes.values()].map((plan) => {
      const { id, area } = devices.entryOf(plan);
      const known = described('OnOffLight').device;
      return { ...known, id, name: devices.nameOf(plan), nodeId: plan.nodeId, ...(area !== undefined && { area }) };
    });
  const get = (id: DeviceId) => list().find((device) => device.id === id);
  const planOf = (id: DeviceId) => [...nodes.values()].find((plan) => devices.entryOf(plan).id === id) ?? planned('none', '');
  const administration: Pick<DeviceAdministration, 'decommission' | 'takeOver' | 'groups' | 'addGroupMember'> = {
    async decommission(id, { isForced }) {
      const answer = left.shift() ?? 'left';
      if (isForced) forced.push(id);
      if (answer !== 'left') throw new AtmoError(answer, 'It does not answer');
      const plan = planOf(id);
      nodes.delete(plan.key);
      devices.forgetNode(plan.key, [plan], 0);
      return [id];
    },
    takeOver(id, replaced) {
      devices.takeOver(planOf(id).key, replaced);
      return get(replaced.id) ?? described('OnOffLight').device;
    },
    groups: () => [{ id: 7, name: 'All', members: [{ device: LAMP, endpoint: 1 }] }],
    async addGroupMember(group, member) {
      joined.push({ group, ...member });
      return { id: group, name: 'All', members: [member] };
    },
  };
  const replacement = new DeviceReplacement({ store, logger: silentLogger, directory: { get }, administration, names, scenes });
  const nameTools = (id: DeviceId) => {
    const device = get(id);
    if (device) names.name(device, toolsOf[id] ?? [], []);
    names.save(id);
  };
  const run = () => replacement.run({ whole: { old: { id: LAMP, name: 'Lamp', area: 'Hall' }, by: NEW }, parts: [], nodeId: '1' }, never);
  return { list, get, names, scenes, nameTools, joined, forced, replacement, run };
}

/** A home of two lamps whose tools have names, before the replacement. */
function twoLamps() {
  const store = new MemoryStore();
  const nodes = fabric();
  const home = hub(store, nodes);
  home.list();
  for (const id of [LAMP, NEW]) home.nameTools(id);
  const of = (device: DeviceId, endpoint: number) => ({ device, key: `${endpoint}/OnOff/turn_on`, action: 'turn_on', params: {} });
  for (const id of SCENE_IDS) {
    home.scenes.save({ id, name: id, actions: [of(LAMP, 1), of(parseDeviceId('fan'), 1), of(LAMP, 2)], changedAtMs: 0 });
  }
  return { store, nodes };
}

const seen = (home: ReturnType<typeof hub>) => home.list().map(({ id, name, nodeId, area }) => ({ id, name, nodeId, area }));
const BEFORE = [
  { id: 'lamp', name: 'Lamp', nodeId: '1', area: undefined },
  { id: 'lamp-2', name: 'Lamp 2', nodeId: '2', area: undefined },
];
const KEYS_BEFORE = ['1/OnOff/turn_on', '1/OnOff/turn_on', '2/OnOff/turn_on'];
const KEYS_AFTER = ['2/OnOff/turn_on', '1/OnOff/turn_on', '3/OnOff/turn_on'];
const AFTER = [{ id: 'lamp', name: 'Lamp', nodeId: '2', area: 'Hall' }];

describe('a device in the place of another one', () => {
  test('has its id, name, room, tools and groups, and keeps the names that it had meanwhile', async () => {
    const { store, nodes } = twoLamps();
    const home = hub(store, nodes);
    expect(await home.run()).toEqual({ outcome: 'left', groupsLeft: [] });
    expect(seen(home)).toEqual(AFTER);
    expect(home.joined).toEqual([{ group: 7, device: 'lamp', endpoint: 1 }]);
    expect(home.names.namesOf(LAMP)).toMatchObject({
      prefixes: ['lamp', 'lamp_2'],
      tools: ['lamp_turn_on', 'lamp_2_2_turn_on', 'lamp_2_turn_on', 'lamp_2_3_turn_on'],
    });
    expect(home.names.namesOf(NEW)).toBeUndefined();
    expect(seen(hub(store, nodes))).toEqual(AFTER);
    expect(store.entries('devices.replacement')).toEqual([]);
  });

  test.each<[ErrorCode]>([['DEVICE_UNREACHABLE'], ['OUTCOME_UNKNOWN']])('that answers %s is forgotten', async (code) => {
    const { store, nodes } = twoLamps();
    const home = hub(store, nodes, [code]);
    expect(await home.run()).toMatchObject({ outcome: 'forgotten' });
    expect(home.forced).toEqual([LAMP]);
    expect(seen(home)).toEqual(AFTER);
  });

  test('that refuses to leave keeps its place', async () => {
    const { store, nodes } = twoLamps();
    const home = hub(store, nodes, ['CLUSTER_STATUS']);
    await expect(home.run()).rejects.toMatchObject({ code: 'CLUSTER_STATUS' });
    expect(seen(hub(store, nodes))).toEqual(BEFORE);
    expect(store.entries('devices.replacement')).toEqual([]);
  });

  test('that cannot be forgotten keeps its place, also when it is removed later', async () => {
    const { store, nodes } = twoLamps();
    await expect(hub(store, nodes, ['DEVICE_UNREACHABLE', 'STORAGE_FAILED']).run()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(store.entries('devices.replacement')).toEqual([]);
    nodes.delete('1');
    const later = hub(store, nodes);
    later.replacement.recover(never);
    expect(seen(later)).toEqual(BEFORE.slice(1));
  });

  test('that was removed before has its place taken all the same', async () => {
    const { store, nodes } = twoLamps();
    nodes.delete('1');
    const home = hub(store, nodes);
    const whole = { old: { id: LAMP, name: 'Lamp', area: 'Hall' }, by: NEW };
    expect(await home.replacement.run({ whole, parts: [] }, never)).toMatchObject({ outcome: 'gone_before' });
    expect(seen(hub(store, nodes))).toEqual(AFTER);
    expect(store.entries('devices').map(({ key }) => key)).toEqual(['2']);
  });

  test('is in one of both states whatever the write at which the hub is killed, and nothing is left over', async () => {
    let ofOld = 0;
    let ofNew = 0;
    for (let writes = 0; ; writes++) {
      const { store, nodes } = twoLamps();
      const killed = new KilledStore(store, writes);
      const dying = hub(killed, nodes);
      await dying.run().catch(() => undefined);
      const again = hub(store, nodes);
      again.replacement.recover(never);
      const state = seen(again);
      if (state.length === 2) {
        expect(state).toEqual(BEFORE);
        expect(keysIn(again)).toEqual(SCENE_IDS.map(() => KEYS_BEFORE));
        ofOld++;
      } else {
        expect(state).toEqual(AFTER);
        expect(keysIn(again)).toEqual(SCENE_IDS.map(() => KEYS_AFTER));
        expect(again.names.namesOf(LAMP)?.tools).toContain('lamp_turn_on');
        expect(again.names.namesOf(NEW)).toBeUndefined();
        ofNew++;
      }
      expect(store.entries('devices.replacement')).toEqual([]);
      expect(seen(hub(store, nodes))).toEqual(state);
      if (!killed.isDead) break;
    }
    expect(ofOld).toBeGreaterThan(0);
    expect(ofNew).toBeGreaterThan(4);
  });

  test('waits for a start at which the new device is there', () => {
    const { store } = twoLamps();
    const whole = { old: { id: LAMP, name: 'Lamp' }, by: NEW };
    store.set('devices.replacement', LAMP, { whole, parts: [], nodeId: '1', groups: [] });
    hub(store, new Map()).replacement.recover(never);
    expect(store.entries('devices.replacement')).toHaveLength(1);
  });
});
