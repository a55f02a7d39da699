import { beforeEach, describe, expect, test } from 'vitest';
import type { DeviceDirectory } from '../../../src/core/devices/device-directory.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { DeviceBindings } from '../../../src/matter/administration/bindings.ts';
import { GroupAdministration, GroupStore, groupCommand } from '../../../src/matter/administration/groups.ts';
import { MemoryStore } from '../memory-store.ts';
import { FakeNode } from './fake-node.ts';

const ADMIN = { privilege: 'Administer', authMode: 'Case', subjects: ['112233'], targets: null };
const lamp = { device: parseDeviceId('lamp'), endpoint: 1 };
const { signal } = new AbortController();

const directory: Pick<DeviceDirectory, 'get' | 'describe'> = {
  get: (id) => ({ id, nodeId: '5', kind: 'node' }) as ReturnType<DeviceDirectory['get']>,
  describe: () => undefined,
};

let node: FakeNode;

beforeEach(() => {
  node = new FakeNode();
  node.attributes.set('0/AccessControl/Acl', [ADMIN]);
});

describe('a group', () => {
  const multicast = () => expect.unreachable('no command is sent here');
  const groupsOf = (store = new GroupStore(new MemoryStore())) =>
    new GroupAdministration({ store, directory: directory as DeviceDirectory, access: node, multicast });

  test('is not created when a member refuses, and the others leave again', async () => {
    const refusing = { device: parseDeviceId('refusing'), endpoint: 2 };
    node.commands.set('2/Groups/AddGroup', () => {
      throw new AtmoError('CLUSTER_STATUS', 'full');
    });
    const groups = groupsOf();
    await expect(groups.create('hall', [lamp, refusing], signal)).rejects.toThrow('full');
    expect(groups.list()).toEqual([]);
    expect(node.log).toContain('invoke 1/Groups/RemoveGroup');
    expect(await groups.create('hall', [lamp], signal)).toMatchObject({ name: 'hall', members: [lamp] });
  });

  test('loses devices that left the home', async () => {
    const groups = groupsOf();
    await groups.create('hall', [lamp, { ...lamp, endpoint: 2 }], signal);
    groups.forget([parseDeviceId('other')]);
    expect(groups.list()[0]?.members).toHaveLength(2);
    groups.forget([lamp.device]);
    expect(groups.list()[0]?.members).toEqual([]);
  });
});

test('a command to a group may omit its options, and no other mandatory field', () => {
  const level = (fields: JsonObject) => groupCommand('LevelControl', 'MoveToLevel', fields).fields;
  expect(level({ level: 80, transitionTime: 10 })).toEqual({ level: 80, transitionTime: 10, optionsMask: {}, optionsOverride: {} });
  const evenIfOff = { optionsMask: { executeIfOff: true }, optionsOverride: { executeIfOff: true } };
  expect(level({ level: 80, transitionTime: 10, ...evenIfOff })).toEqual({ level: 80, transitionTime: 10, ...evenIfOff });
  expect(() => level({ transitionTime: 10 })).toThrow(/\/level is required/);
});

test('a source that cannot be bound gets no access on the target', async () => {
  node.read = () => Promise.reject(new AtmoError('NOT_SUPPORTED', 'no cluster Binding'));
  const bindings = new DeviceBindings({ directory: directory as DeviceDirectory, access: node, adminNodeId: () => '112233' });
  await expect(bindings.bind(lamp, { ...lamp, device: parseDeviceId('target') }, signal)).rejects.toMatchObject({
    code: 'NOT_SUPPORTED',
    message: expect.stringContaining('Part 1 of lamp cannot control other devices by itself'),
  });
  expect(node.log).toEqual([]);
});
