import { describe, expect, test } from 'vitest';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import type { Replacement } from '../../../src/tools/builtin/device-replacement.ts';
import type { AdminPorts, DeviceBounds } from '../../../src/tools/builtin/hub-tool.ts';
import { replaceTool } from '../../../src/tools/builtin/replace-tool.ts';
import type { LackingNames, NameReference } from '../../../src/tools/names/name-references.ts';
import { deviceNames } from '../../../src/tools/names/resolve-names.ts';
import { approvalsSaying } from '../../calls/approvals-fake.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { makeDevice } from '../../http/http-fixture.ts';
import { NO_NAMING } from './device-names-fixture.ts';

const part = (id: string, parent: string, kind: Device['kind'] = 'part'): Partial<Device> => ({
  ...makeDevice(id, { kind, parent: parseDeviceId(parent) }),
});
const HOME: readonly Device[] = [
  makeDevice('lamp', { name: 'Desk lamp', area: 'Study', nodeId: '1', reachability: 'unreachable' }),
  makeDevice('bulb', { nodeId: '2' }),
  makeDevice('plug', { nodeId: '3', deviceTypes: ['OnOffPlugInUnit'] }),
  makeDevice('lock', { nodeId: '4', deviceTypes: ['DoorLock'] }),
  makeDevice('lock-new', { nodeId: '5', deviceTypes: ['DoorLock'] }),
  makeDevice('bridge', { nodeId: '6' }),
  makeDevice('sofa', { ...part('sofa', 'bridge', 'bridged'), nodeId: '6' }),
  makeDevice('fridge', { nodeId: '7', deviceTypes: ['Refrigerator'] }),
  makeDevice('fridge-left', { ...part('fridge-left', 'fridge'), nodeId: '7', deviceTypes: ['Cabinet'] }),
  makeDevice('fridge-right', { ...part('fridge-right', 'fridge'), nodeId: '7', deviceTypes: ['Cabinet'] }),
  makeDevice('icebox', { nodeId: '8', deviceTypes: ['Refrigerator'] }),
  makeDevice('icebox-1', { ...part('icebox-1', 'icebox'), nodeId: '8', deviceTypes: ['Cabinet'] }),
  makeDevice('icebox-2', { ...part('icebox-2', 'icebox'), nodeId: '8', deviceTypes: ['Cabinet'] }),
  makeDevice('cooler', { nodeId: '9', deviceTypes: ['Refrigerator'] }),
  makeDevice('probe', { nodeId: '', kind: 'board', deviceTypes: [] }),
];

const get = (id: DeviceId) => HOME.find((one) => one.id === id);
const nodeOf = (id: DeviceId) => [id, ...HOME.filter((one) => one.id !== id && one.nodeId === get(id)?.nodeId).map((one) => one.id)];
const bounds: Pick<DeviceBounds, 'nodeOf' | 'wholeOf' | 'isGuarded' | 'isOfKind'> = {
  nodeOf,
  wholeOf: (id) => get(id)?.parent ?? id,
  isGuarded: (id) => id.startsWith('lock'),
  isOfKind: (id, other) => get(id)?.deviceTypes.join() === get(other)?.deviceTypes.join(),
};

interface Setup {
  readonly lacking?: LackingNames;
  readonly uses?: readonly NameReference[];
  readonly isApproved?: boolean;
}

function hub({ lacking = { tools: [], toolKeys: [], readings: [] }, uses = [], isApproved = true }: Setup = {}) {
  const runs: Replacement[] = [];
  const approvals = approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['ann'] });
  const made = makePipeline(isApproved ? { approvals } : {});
  const claimed = { names: ['Old lamp'], prefixes: ['old_lamp'], tools: [] };
  const ports = {
    devices: deviceNames(() => HOME),
    bounds: bounds as DeviceBounds,
    naming: {
      ...NO_NAMING,
      directory: { get, list: () => HOME },
      uses: { of: () => uses },
      register: {
        ...NO_NAMING.register,
        lacking: () => lacking,
        namesOf: (id: DeviceId) => (id === 'gone-lamp' ? { device: id, ...claimed } : undefined),
      },
    },
    replacement: {
      async run(replacement: Replacement) {
        runs.push(replacement);
        return { outcome: 'left' as const, groupsLeft: [] };
      },
    },
  };
  expect(made.registry.register(replaceTool(ports as unknown as AdminPorts & typeof ports))).toEqual([]);
  const call = (old: string, by: string, more: object = {}, principal = owner) =>
    made.pipeline.call({ principal, tool: 'hub:replace_device', params: { device_id: old, new_device_id: by, ...more } });
  return { call, runs };
}

describe('a device is replaced', () => {
  test('by names, with its name and room', async () => {
    const { call, runs } = hub();
    expect(await call('desk lamp', 'bulb')).toMatchObject({
      result: { device_id: 'lamp', former_device_id: 'bulb', old_device: 'left', lacking_tools: [], groups_left: [] },
    });
    expect(runs).toEqual([{ whole: { old: { id: 'lamp', name: 'Desk lamp', area: 'Study' }, by: 'bulb' }, parts: [], nodeId: '1' }]);
  });

  test('also after it was removed, then by its id', async () => {
    const { call, runs } = hub();
    expect(await call('gone-lamp', 'bulb')).toMatchObject({ result: { device_id: 'gone-lamp' } });
    expect(runs).toEqual([{ whole: { old: { id: 'gone-lamp', name: 'Old lamp' }, by: 'bulb' }, parts: [] }]);
    expect(await call('gone-lamp', 'lock-new')).toMatchObject({ error: { code: 'CONFLICT' } });
  });

  test('with its parts, in their order', async () => {
    const { call, runs } = hub();
    expect(await call('fridge', 'icebox')).toMatchObject({ status: 'success' });
    expect(runs[0]?.parts).toEqual([
      { old: { id: 'fridge-left', name: 'fridge left' }, by: 'icebox-1' },
      { old: { id: 'fridge-right', name: 'fridge right' }, by: 'icebox-2' },
    ]);
  });

  test('only after a person approved it, by whom may administer both', async () => {
    const { call, runs } = hub({ isApproved: false });
    expect(await call('lamp', 'bulb')).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    const caretaker = agent('admin:device:lamp', 'admin:hub', 'device:read:*');
    expect(await hub().call('lamp', 'bulb', {}, caretaker)).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { required: ['admin:device:bulb'] } },
    });
    expect(await hub().call('lamp', 'bulb', {}, agent('admin:device:*'))).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(runs).toEqual([]);
  });

  test.each([
    ['by itself', 'lamp', 'lamp', 'VALIDATION_ERROR', 'cannot replace itself'],
    ['by a device of another kind', 'lamp', 'plug', 'CONFLICT', 'of another kind'],
    ['by a lock, when it was no lock', 'lamp', 'lock', 'CONFLICT', 'of another kind'],
    ['by what is part of it', 'fridge', 'fridge-left', 'CONFLICT', 'part of fridge'],
    ['by a sensor of the board', 'lamp', 'probe', 'CONFLICT', 'of the board'],
    ['alone, when it is behind a bridge', 'sofa', 'bulb', 'CONFLICT', 'part of bridge'],
    ['as a bridge with all behind it', 'bridge', 'bulb', 'CONFLICT', 'replace each device behind it'],
    ['when nobody ever had it', 'ghost', 'bulb', 'DEVICE_NOT_FOUND', 'no device'],
  ])('never %s', async (_, old, by, code, message) => {
    const { call, runs } = hub();
    expect(await call(old, by)).toMatchObject({ error: { code, message: expect.stringContaining(message) } });
    expect(runs).toEqual([]);
  });

  test('a lock by a lock', async () => {
    expect(await hub().call('lock', 'lock-new')).toMatchObject({ status: 'success' });
  });

  test('by one that lacks what is used only when that is confirmed, and names it before', async () => {
    const uses: readonly NameReference[] = [{ kind: 'automation', id: 'night', as: ['matter:lamp_dim'] }];
    const lacking = { tools: ['lamp_dim'], toolKeys: ['1/LevelControl/dim'], readings: ['power'] };
    const { call, runs } = hub({ lacking, uses });
    expect(await call('lamp', 'bulb')).toMatchObject({
      error: {
        code: 'CONFLICT',
        message: expect.stringContaining('bulb lacks lamp_dim, power, which is used by automation night'),
        details: { lacking_tools: ['lamp_dim'], lacking_readings: ['power'], used_by: [{ kind: 'automation', id: 'night' }] },
      },
    });
    expect(runs).toEqual([]);
    expect(await call('lamp', 'bulb', { confirm: true })).toMatchObject({
      result: { lacking_tools: ['lamp_dim'], lacking_readings: ['power'], used_by: [{ id: 'night' }] },
    });
    expect(await hub({ lacking }).call('lamp', 'bulb')).toMatchObject({ result: { lacking_tools: ['lamp_dim'], used_by: [] } });
    expect(await hub().call('fridge', 'cooler')).toMatchObject({
      error: { code: 'CONFLICT', details: { lacking_parts: ['fridge-left', 'fridge-right'] } },
    });
  });
});
