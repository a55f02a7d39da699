import { describe, expect, test } from 'vitest';
import { COMMISSION_STEPS, type DeviceAdministration, type GroupInfo } from '../../../src/core/devices/device-administration.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { deviceAdminTools } from '../../../src/tools/builtin/device-tools.ts';
import type { DeviceBounds } from '../../../src/tools/builtin/hub-tool.ts';
import { deviceNames } from '../../../src/tools/names/resolve-names.ts';
import { approvalsSaying } from '../../calls/approvals-fake.ts';
import { agent, makePipeline, owner, settled } from '../../calls/pipeline-fixture.ts';
import { NO_NAMING } from './device-names-fixture.ts';

function device(id: string, name: string): Device {
  return {
    id: parseDeviceId(id),
    name,
    kind: 'node',
    nodeId: '1',
    vendor: { id: 1, name: 'V' },
    product: { id: 1, name: 'P' },
    deviceTypes: ['OnOffLight'],
    reachability: 'reachable',
    lastSeenMs: 0,
    isSleepy: false,
  };
}
const lamp = device('lamp-1', 'Desk Lamp');
const lock = device('lock-1', 'Front Door');
const group: GroupInfo = { id: 1, name: 'All', members: [lamp, lock].map(({ id }) => ({ device: id, endpoint: 1 })) };

/** The lamp has the endpoints 1 and 3, the lock, a part of the same node in some tests, all others. */
function bounds(isOneNode = false): DeviceBounds {
  return {
    ownerOf: (id, endpoint) => (isOneNode ? (endpoint % 2 === 1 ? lamp.id : lock.id) : id),
    nodeOf: (id) => (isOneNode ? [lamp.id, lock.id] : [id]),
    wholeOf: (id) => (isOneNode ? lamp.id : id),
    isGuarded: (id) => id === lock.id,
    isOfKind: (id, other) => id === other || ![id, other].includes(lock.id),
    servedClusters: () => [{ endpoint: 1, cluster: 'OnOff', served_by: 'profile' }],
    riskOn: (id) => (id === lock.id ? 'dangerous' : 'low'),
    riskOfCommand: ({ device, command }) => (device === lock.id && command === 'Toggle' ? 'dangerous' : 'none'),
    outcomeOf: ({ cluster, command }) => (cluster === 'OnOff' && command === 'On' ? { values: { is_on: true } } : {}),
    valuesOn: (id) => (id === lock.id ? ['lock_state'] : ['is_on']),
  };
}

/** Remembers every call with its arguments, without the options that carry the signal. */
class RecordingAdministration {
  readonly calls: unknown[][] = [];

  port(): DeviceAdministration {
    const answers: Record<string, unknown> = {
      halfCommissioned: [{ id: 'h1', startedAtMs: 1, step: 'join', advice: 'Reset it' }],
      decommission: [lamp.id],
      rename: lamp,
      setArea: lamp,
      recognised: [lamp, lock].map(({ id }) => ({ device: id, former: parseDeviceId(`old-${id}`), removedAtMs: 0 })),
      restore: { ...lamp, id: parseDeviceId('old-lamp-1') },
      ping: { roundTripMs: 5 },
      interview: [lamp],
      share: { qrCode: 'MT:X', manualCode: '123', expiresAt: '2026-01-01T00:00:00Z' },
      fabrics: [{ fabricIndex: 1, label: 'Home', vendorId: 1, fabricId: '1', isOurs: true }],
      diagnostics: { UpTime: 5 },
      topology: { nodes: [{ id: 'lamp-1', name: 'Lamp', kind: 'thread' }], links: [{ from: 'lamp-1', to: 'thread:00', isChild: true }] },
      updates: { folder: '/updates', offers: [], unfit: [{ file: 'x.ota', reason: 'damaged' }] },
      update: { device: lamp.id, file: 'x.ota', from: { number: 1, text: '1' }, to: { number: 2, text: '2' } },
      groups: [group],
      createGroup: group,
      addGroupMember: group,
      removeGroupMember: group,
      accessControl: [{ privilege: 5 }],
      bindings: [],
      credentials: [{ name: 'home', kind: 'wifi', network: 'HomeNet' }],
      importThread: { name: 'mesh', kind: 'thread', network: 'OT' },
      removeCredentials: true,
    };
    return new Proxy({} as DeviceAdministration, {
      get:
        (_, method: string) =>
        (...args: readonly unknown[]) => {
          this.calls.push([
            method,
            ...args.filter((arg) => !(typeof arg === 'object' && arg !== null && 'signal' in arg && !('isForced' in arg))),
          ]);
          if (method === 'commission') return this.#commission(args[1] as Parameters<DeviceAdministration['commission']>[1]);
          return answers[method];
        },
    });
  }

  async #commission(options: Parameters<DeviceAdministration['commission']>[1]) {
    options.onProgress({ step: 'connect', note: 'found it' });
    options.onProgress({ step: 'discover', note: 'it was another one' });
    return { nodeId: '7', devices: [lamp], findings: [], recognised: [] };
  }
}

function room(extra: Parameters<typeof makePipeline>[0] = {}, isOneNode = false) {
  const recording = new RecordingAdministration();
  const made = makePipeline(extra);
  const tools = deviceAdminTools({
    administration: recording.port(),
    devices: deviceNames(() => [lamp, lock]),
    bounds: bounds(isOneNode),
    riskOf: (cluster) => (cluster === 'DoorLock' ? 'dangerous' : 'low'),
    naming: NO_NAMING,
  });
  for (const tool of tools) expect(made.registry.register(tool)).toEqual([]);
  const call = (tool: string, params: unknown, principal = owner) => made.pipeline.call({ principal, tool: `hub:${tool}`, params });
  return { ...made, tools, recording, call };
}

/** Tools of which device-name-tools.test.ts and share-devices.test.ts have the tests. */
const TESTED_ELSEWHERE = ['list_device_names', 'free_device_name', 'list_devices_to_share', 'share_devices'];

const approved = approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['ann'] });
const onLamp = { device_id: 'desk lamp' };
const binding = { device_id: 'lamp-1', endpoint: 1, target_device_id: 'front door', target_endpoint: 2 };
const CALLS: readonly (readonly [string, object, readonly unknown[]])[] = [
  ['commission_device', { code: '34970112332' }, ['commission', { code: '34970112332' }]],
  ['recognised_devices', {}, ['recognised']],
  ['restore_device', onLamp, ['restore', 'lamp-1']],
  ['half_commissioned', {}, ['halfCommissioned']],
  ['forget_half_commissioned', { id: 'h1' }, ['forget', 'h1']],
  ['remove_device', onLamp, ['decommission', 'lamp-1', expect.objectContaining({ isForced: false })]],
  ['rename_device', { ...onLamp, name: 'Reading' }, ['rename', 'lamp-1', 'Reading']],
  ['set_device_area', { ...onLamp, area: 'Study' }, ['setArea', 'lamp-1', 'Study']],
  ['set_device_area', onLamp, ['setArea', 'lamp-1', null]],
  ['identify_device', onLamp, ['identify', 'lamp-1', 10]],
  ['ping_device', onLamp, ['ping', 'lamp-1']],
  ['interview_device', onLamp, ['interview', 'lamp-1']],
  ['device_diagnostics', onLamp, ['diagnostics', 'lamp-1']],
  ['share_device', onLamp, ['share', 'lamp-1', 300]],
  ['close_share', onLamp, ['closeShare', 'lamp-1']],
  ['list_fabrics', onLamp, ['fabrics', 'lamp-1']],
  ['remove_fabric', { ...onLamp, fabric_index: 2 }, ['removeFabric', 'lamp-1', 2]],
  ['get_access_control', onLamp, ['accessControl', 'lamp-1']],
  ['set_access_control', { ...onLamp, entries: [{ privilege: 5 }] }, ['setAccessControl', 'lamp-1', [{ privilege: 5 }]]],
  ['network_topology', {}, ['topology']],
  ['list_updates', {}, ['updates']],
  ['update_device', { ...onLamp, file: 'x.ota' }, ['update', 'lamp-1']],
  ['list_groups', {}, ['groups']],
  ['create_group', { name: 'All', members: [{ ...onLamp, endpoint: 1 }] }, ['createGroup', 'All', [{ device: 'lamp-1', endpoint: 1 }]]],
  ['add_group_member', { group: 1, ...onLamp, endpoint: 1 }, ['addGroupMember', 1, { device: 'lamp-1', endpoint: 1 }]],
  ['remove_group_member', { group: 1, ...onLamp, endpoint: 1 }, ['removeGroupMember', 1, { device: 'lamp-1', endpoint: 1 }]],
  ['delete_group', { group: 1 }, ['deleteGroup', 1]],
  ['invoke_group', { group: 1, cluster: 'OnOff', command: 'Off' }, ['invokeGroup', 1, 'OnOff', 'Off', {}]],
  ['get_bindings', { ...onLamp, endpoint: 1 }, ['bindings', 'lamp-1', 1]],
  [
    'bind_devices',
    { ...binding, cluster: 'OnOff' },
    ['bind', { device: 'lamp-1', endpoint: 1 }, { device: 'lock-1', endpoint: 2, cluster: 'OnOff' }],
  ],
  ['unbind_devices', binding, ['unbind', { device: 'lamp-1', endpoint: 1 }, { device: 'lock-1', endpoint: 2 }]],
  ['list_credentials', {}, ['credentials']],
  ['set_wifi_credentials', { name: 'home', ssid: 'HomeNet', password: 'pw' }, ['setWifi', 'home', 'HomeNet', 'pw']],
  ['set_thread_credentials', { name: 'mesh', dataset: '0e08' }, ['setThread', 'mesh', '0e08']],
  [
    'import_thread_credentials',
    { name: 'mesh', router_url: 'http://192.168.1.5:8081' },
    ['importThread', 'mesh', 'http://192.168.1.5:8081'],
  ],
  ['remove_credentials', { name: 'home' }, ['removeCredentials', 'home']],
];

describe('hub tools', () => {
  test.each(CALLS)('%s reaches the port with canonical values', async (tool, params, expected) => {
    const { call, recording } = room({ approvals: approved });
    expect(await call(tool, params)).toMatchObject({ status: 'success' });
    expect(recording.calls.filter(([method]) => method === expected[0]).at(-1)).toEqual(expected);
  });

  test('every tool was called by the test above', () => {
    const called = new Set(CALLS.map(([tool]) => tool));
    expect(
      room()
        .tools.map((tool) => tool.definition.name)
        .filter((name) => !called.has(name) && !TESTED_ELSEWHERE.includes(name)),
    ).toEqual([]);
  });

  test('need a grant for administration, and answer like nothing to others', async () => {
    const { call } = room();
    for (const tool of ['ping_device', 'list_groups', 'commission_device']) {
      expect(await call(tool, onLamp, agent('*'))).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
    }
    const caretaker = agent('admin:device:lamp-1');
    expect(await call('ping_device', onLamp, caretaker)).toMatchObject({ result: { round_trip_ms: 5 } });
    expect(await call('ping_device', { device_id: 'lock-1' }, caretaker)).toMatchObject({ error: { code: 'DEVICE_NOT_FOUND' } });
    expect(await call('bind_devices', binding, caretaker)).toMatchObject({ error: { code: 'DEVICE_NOT_FOUND' } });
  });

  test.each(['remove_device', 'restore_device', 'update_device', 'remove_fabric', 'set_access_control', 'share_device', 'bind_devices'])(
    '%s waits for approval',
    async (tool) => {
      const { call, recording } = room();
      const params = CALLS.find(([name]) => name === tool)?.[1];
      expect(await call(tool, params)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
      expect(recording.calls).toEqual([]);
    },
  );

  test('a group command needs the permission for every member and has the highest risk among them', async () => {
    const { call } = room();
    const params = { group: 1, cluster: 'OnOff', command: 'Off' };
    expect(await call('invoke_group', params, agent('admin:hub', 'device:control:lamp-1'))).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('may not know of'), details: { required: [] } },
    });
    expect(await call('invoke_group', { ...params, cluster: 'DoorLock', command: 'UnlockDoor' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('dangerous') },
    });
    // What is harmless for most devices may be dangerous for one of them, as its file says.
    expect(await call('invoke_group', { ...params, command: 'Toggle' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('dangerous') },
    });
    expect(await call('invoke_group', { ...params, group: 9 })).toMatchObject({ error: { code: 'NOT_FOUND' } });
  });
});

describe('devices that share a node', () => {
  const caretaker = agent('admin:device:lamp-1', 'admin:hub');
  const foreign = { device_id: 'lamp-1', endpoint: 2 };

  test.each([
    ['add_group_member', { group: 1, ...foreign }],
    ['remove_group_member', { group: 1, ...foreign }],
    ['create_group', { name: 'All', members: [foreign] }],
    ['get_bindings', foreign],
    ['bind_devices', { ...foreign, target_device_id: 'lamp-1', target_endpoint: 1 }],
    ['bind_devices', { device_id: 'lamp-1', endpoint: 1, target_device_id: 'lamp-1', target_endpoint: 2 }],
    ['unbind_devices', { device_id: 'lamp-1', endpoint: 1, target_device_id: 'lamp-1', target_endpoint: 2 }],
  ])('%s refuses an endpoint of another device of the node', async (tool, params) => {
    const { call, recording } = room({ approvals: approved }, true);
    expect(await call(tool, params, caretaker)).toMatchObject({
      error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('not part of lamp-1') },
    });
    expect(recording.calls).toEqual([]);
  });

  test.each(['remove_device', 'update_device', 'share_device', 'close_share', 'remove_fabric', 'set_access_control'])(
    '%s changes the whole node and needs the permission for each of its devices',
    async (tool) => {
      const { call, recording } = room({ approvals: approved }, true);
      const params = CALLS.find(([name]) => name === tool)?.[1];
      expect(await call(tool, params, caretaker)).toMatchObject({
        error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('may not know of'), details: { required: [] } },
      });
      expect(recording.calls).toEqual([]);
      expect(await call(tool, params, agent('admin:device:*'))).toMatchObject({ status: 'success' });
    },
  );

  test('one device of a bridge is never removed alone: the refusal says how many would go and what to name', async () => {
    const { call, recording } = room({ approvals: approved }, true);
    expect(await call('remove_device', { device_id: 'front door' })).toMatchObject({
      error: {
        code: 'CONFLICT',
        message: expect.stringMatching(/^lock-1 cannot leave alone: it belongs to lamp-1, .* 2 devices\. Name lamp-1/),
        details: { devices: 2, whole: 'lamp-1' },
      },
    });
    expect(recording.calls).toEqual([]);
    expect(await call('remove_device', { device_id: 'front door', whole_node: true })).toMatchObject({ status: 'success' });
    expect(await call('remove_device', { device_id: 'lamp-1' })).toMatchObject({ status: 'success' });
    expect(recording.calls.map(([method, id]) => [method, id])).toEqual([
      ['decommission', 'lock-1'],
      ['decommission', 'lamp-1'],
    ]);
  });

  test('former ids come back with a bridge but for locks, which are named one by one', async () => {
    const { call, recording } = room({ approvals: approved }, true);
    expect(await call('restore_device', { device_id: 'lamp-1', whole_node: true })).toMatchObject({
      result: { restored: [{ device_id: 'old-lamp-1', former_device_id: 'lamp-1' }], left: ['lock-1'] },
    });
    expect(await call('restore_device', { device_id: 'lock-1' })).toMatchObject({ status: 'success' });
    expect(recording.calls.filter(([method]) => method === 'restore')).toEqual([
      ['restore', 'lamp-1'],
      ['restore', 'lock-1'],
    ]);
  });

  test('sharing one device of a bridge tells that the bridge is opened with all its devices', async () => {
    const { call } = room({ approvals: approved }, true);
    const behind = { device_id: 'front door' };
    expect(await call('share_device', behind)).toMatchObject({ result: { manual_code: '123', opened: 'lamp-1', devices: 2 } });
    expect(await call('close_share', behind)).toMatchObject({ result: { success: true, opened: 'lamp-1', devices: 2 } });
  });

  test('a group that names an endpoint of another device still needs the permission for that one', async () => {
    const { call } = room({ approvals: approved }, true);
    const params = { group: 1, cluster: 'OnOff', command: 'Off' };
    const { error } = (await call('invoke_group', params, agent('admin:hub', 'device:control:lock-1', 'device:read:lamp-1'))) as {
      error?: unknown;
    };
    expect(error).toMatchObject({ details: { required: ['device:control:lamp-1'] } });
  });
});

describe('what a device may do from then on by itself', () => {
  test('binding a switch to a lock, or a lock to a group, is as dangerous as unlocking it', async () => {
    const { call, recording } = room();
    const toLamp = { ...binding, device_id: 'lock-1', target_device_id: 'lamp-1' };
    expect(await call('bind_devices', toLamp)).toMatchObject({ status: 'success' });
    expect(await call('bind_devices', binding)).toMatchObject({ error: { message: expect.stringContaining('dangerous') } });
    const member = { device_id: 'lock-1', endpoint: 1 };
    expect(await call('add_group_member', { group: 1, ...member })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(await call('create_group', { name: 'All', members: [member] })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(recording.calls.map(([method]) => method)).toEqual(['bind']);
  });
});

describe('commissioning as a job', () => {
  test('tells its steps, and no code is in any event, audit row or error', async () => {
    const { pipeline, jobs, heard, audited } = room();
    const request = { principal: owner, tool: 'hub:commission_device' };
    const answer = await pipeline.callAsync({ ...request, params: { code: '34970112332', passcode: 20202021, name: 'Lamp' } });
    await settled();
    const id = answer.kind === 'job' ? answer.job.job_id : '';
    expect(jobs.get(id, owner)).toMatchObject({ status: 'succeeded', result: { node_id: '7' } });
    // What was reached stays reached where the search goes on.
    const fraction = COMMISSION_STEPS.indexOf('connect') / (COMMISSION_STEPS.length - 1);
    expect(jobs.get(id, owner)).toMatchObject({ progress: { note: 'discover: it was another one', fraction } });
    const bad = await pipeline.call({ ...request, params: { code: 34970112332, passcode: 'x'.repeat(3), host: 1 } });
    expect(bad).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    const traces = JSON.stringify([heard, audited, bad]);
    expect(traces).toContain('[secret]');
    expect(traces).not.toMatch(/34970112332|20202021/);
  });
});

test('a failure of the port is the answer', async () => {
  const administration = new Proxy({} as DeviceAdministration, {
    get: () => async () => {
      throw new AtmoError('DEVICE_UNREACHABLE', 'Nothing was delivered');
    },
  });
  const { registry, pipeline } = makePipeline();
  const ports = { administration, devices: deviceNames(() => [lamp]), bounds: bounds(), riskOf: () => 'low' as const, naming: NO_NAMING };
  for (const tool of deviceAdminTools(ports)) registry.register(tool);
  expect(await pipeline.call({ principal: owner, tool: 'hub:ping_device', params: onLamp })).toMatchObject({
    error: { code: 'DEVICE_UNREACHABLE' },
  });
});

test('rules learn what a group command sets, and what members of groups and bindings may change', () => {
  const { registry } = room();
  const effects = (tool: string, params: object) => registry.resolve(`hub:${tool}`).effects?.(params as JsonObject);
  const member = { device_id: 'lock-1', endpoint: 1 };
  expect(effects('invoke_group', { group: 1, cluster: 'OnOff', command: 'On', params: {} })).toMatchObject([
    { device: 'lamp-1', values: { is_on: true } },
    { device: 'lock-1', values: { is_on: true } },
  ]);
  expect(effects('add_group_member', { group: 1, ...member })).toMatchObject([{ device: 'lock-1', unforeseen: ['lock_state'] }]);
  expect(effects('create_group', { name: 'x', members: [member] })?.[1]).toMatchObject({ device: 'lock-1', unforeseen: ['lock_state'] });
  expect(effects('bind_devices', { ...binding, target_device_id: 'lock-1' })).toMatchObject([
    { device: 'lamp-1' },
    { device: 'lock-1', unforeseen: ['lock_state'] },
  ]);
  expect(effects('share_device', { device_id: 'lamp-1', seconds: 300 })).toMatchObject([{ device: 'lamp-1' }]);
});
