import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../../src/core/json.ts';
import type { Attacker } from './attacker.ts';
import { type Attempt, aboutOwn, each, harmless, refused } from './attempt.ts';

const UNLOCK = { cluster: 'DoorLock', command: 'UnlockDoor', params: { pinCode: 'NzM5MTY0Mjg=' } };
const LAMP = 'desk-lamp';

const control = (me: Attacker, params: JsonObject) => me.invoke('matter:control_matter_device', params);

/** The generic tool, groups, bindings, access lists, sequences: the ways that reach further than one tool of one device. */
export const DEVICE_PATHS: readonly Attempt[] = [
  refused('the generic tool on other devices', (me, { lock, beacon, climate }) =>
    each(
      [
        { device_id: lock.id, ...UNLOCK },
        { device_id: lock.name, ...UNLOCK },
        { device_id: beacon.id, cluster: 'OnOff', command: 'On' },
        { device_id: climate.id, cluster: 'Thermostat', attribute: 'OccupiedHeatingSetpoint', value: 2500 },
        { device_id: climate.id, cluster: 'Thermostat', attribute: 'LocalTemperature' },
      ],
      (params) => control(me, params),
    ),
  ),
  refused('the generic tool by its second name', (me, { beacon }) =>
    each(['matter_command', 'matter:matter_command', 'control_matter_device'], (tool) =>
      me.invoke(tool, { device_id: beacon.id, cluster: 'OnOff', command: 'On' }),
    ),
  ),
  refused('other endpoints of the own device', (me) =>
    each([2, 3, 65_534, -1, 1.5, '1', [1, 2]], (endpoint) => control(me, { device_id: LAMP, endpoint, cluster: 'OnOff', command: 'On' })),
  ),
  refused('clusters of others on the own device', (me) =>
    each(['DoorLock', 'Thermostat', 'TemperatureMeasurement', '__proto__', '6', '0x0101'], (cluster) =>
      control(me, { device_id: LAMP, cluster, command: 'UnlockDoor' }),
    ),
  ),
  refused('the node of another device by number', (me) =>
    each(['1', '2', '0x2', '@1:2', 'node:2', 'peer2', '-1', '18446744073709551615'], (device_id) =>
      control(me, { device_id, cluster: 'OnOff', command: 'On' }),
    ),
  ),
  refused('the access list of the own device, to let others in', (me) =>
    each(
      [
        { endpoint: 0, cluster: 'AccessControl', attribute: 'Acl' },
        { endpoint: 0, cluster: 'AccessControl', attribute: 'ACL' },
        { endpoint: 0, cluster: 'AccessControl', attribute: 'Acl', value: [] },
        { endpoint: 0, cluster: 'OperationalCredentials', attribute: 'NOCs' },
        { endpoint: 0, cluster: 'GroupKeyManagement', command: 'KeySetReadAllIndices' },
        { endpoint: 0, cluster: 'AdministratorCommissioning', command: 'RevokeCommissioning' },
      ],
      (params) => control(me, { device_id: LAMP, ...params }),
    ),
  ),
  refused('the own device put into a group of others by its own command', (me, { group }) =>
    each(['AddGroup', 'AddGroupIfIdentifying', 'RemoveAllGroups', 'ViewGroup'], (command) =>
      control(me, { device_id: LAMP, cluster: 'Groups', command, params: { groupId: group, groupName: 'x' } }),
    ),
  ),
  harmless('who else is in the fabric, by what the own device tells', (me) =>
    each(
      [
        ['Descriptor', 'PartsList'],
        ['OperationalCredentials', 'Fabrics'],
        ['GroupKeyManagement', 'GroupTable'],
        ['GroupKeyManagement', 'GroupKeyMap'],
        ['BasicInformation', 'NodeLabel'],
        ['GeneralDiagnostics', 'NetworkInterfaces'],
      ],
      ([cluster = '', attribute = '']) => control(me, { device_id: LAMP, endpoint: 0, cluster, attribute }),
    ),
  ),
  refused('scenes of a group of others', (me, { group }) =>
    each(['recall_scene', 'store_scene', 'remove_scene'], async (action) => {
      await me.invoke(`desk_lamp_${action}`, { scene: 1, group });
      await me.invoke('control_device', { device_id: LAMP, command: action, params: { scene: 1, group } });
    }),
  ),
  refused('groups: listed, made, joined, commanded, deleted', (me, { group, beacon }) =>
    each(
      [
        ['list_groups', {}],
        ['create_group', { name: 'mine', members: [{ device_id: LAMP, endpoint: 1 }] }],
        ['create_group', { name: 'mine', members: [{ device_id: beacon.id, endpoint: 1 }] }],
        ['add_group_member', { group, device_id: LAMP, endpoint: 1 }],
        ['remove_group_member', { group, device_id: beacon.id, endpoint: 1 }],
        ['invoke_group', { group, cluster: 'OnOff', command: 'On' }],
        ['delete_group', { group }],
      ] as const,
      ([tool, params]) => me.invoke(`hub:${tool}`, params),
    ),
  ),
  refused('bindings from and to the own device', (me, { beacon }) =>
    each(
      [
        ['bind_devices', { device_id: LAMP, endpoint: 1, target_device_id: beacon.id, target_endpoint: 1 }],
        ['bind_devices', { device_id: beacon.id, endpoint: 1, target_device_id: LAMP, target_endpoint: 1 }],
        ['unbind_devices', { device_id: beacon.id, endpoint: 1, target_device_id: beacon.id, target_endpoint: 1 }],
        ['get_bindings', { device_id: beacon.id, endpoint: 1 }],
      ] as const,
      ([tool, params]) => me.invoke(`hub:${tool}`, params),
    ),
  ),
  refused('administration of other devices', (me, { beacon, lock }) =>
    each(
      [
        ['rename_device', { device_id: beacon.id, name: 'Mine' }],
        ['set_device_area', { device_id: beacon.id, area: 'Mine' }],
        ['identify_device', { device_id: beacon.id }],
        ['ping_device', { device_id: beacon.id }],
        ['interview_device', { device_id: beacon.id }],
        ['device_diagnostics', { device_id: lock.name }],
        ['share_device', { device_id: lock.id }],
        ['list_fabrics', { device_id: lock.id }],
        ['get_access_control', { device_id: lock.id }],
        ['set_access_control', { device_id: lock.id, entries: [] }],
        ['remove_device', { device_id: lock.id, force: true }],
      ] as const,
      ([tool, params]) => me.invoke(`hub:${tool}`, params),
    ),
  ),
  refused('administration of the own device, to take another one in its place', (me, { beacon }) =>
    each(
      [
        ['rename_device', { device_id: LAMP, name: beacon.name }],
        ['set_device_area', { device_id: LAMP, area: beacon.area }],
        ['share_device', { device_id: LAMP }],
        ['remove_device', { device_id: LAMP }],
        ['list_fabrics', { device_id: LAMP }],
      ] as const,
      ([tool, params]) => me.invoke(`hub:${tool}`, params),
    ),
  ),
  refused('a sequence with a step on another device', (me, { beacon, lock }) =>
    each(
      [
        [{ tool: `matter:${lock.slug}_unlock` }],
        [{ tool: 'desk_lamp_turn_off' }, { tool: `matter:${beacon.slug}_turn_on` }],
        [{ tool: 'turn_on_light', params: { device_id: beacon.id } }],
      ],
      (steps) => me.invoke('sequence', { steps }),
    ),
  ),
  aboutOwn('a sequence that takes the other device from the result before it', (me, { beacon }) =>
    me.invoke('sequence', {
      steps: [
        { tool: 'echo', params: { value: { id: beacon.id, tool: `matter:${beacon.slug}_turn_on` } } },
        { tool: 'turn_on_light', params: { device_id: { $result: '0/id' } } },
      ],
    }),
  ),
  refused('a sequence whose step takes its tool from a result', (me, { beacon }) =>
    me.invoke('sequence', {
      steps: [
        { tool: 'echo', params: { value: `matter:${beacon.slug}_turn_on` } },
        { tool: { $result: '0' }, params: {} },
      ],
    }),
  ),
  refused('sequences in sequences', (me, { beacon }) =>
    each(['sequence', 'core:sequence', 'sequence@1.0.0', 'SEQUENCE', 'core:sequence@*'], (tool) =>
      me.invoke('sequence', { steps: [{ tool, params: { steps: [{ tool: `matter:${beacon.slug}_turn_on` }] } }] }),
    ),
  ),
  refused('a sequence of too many steps, and of steps that are none', (me) =>
    each(
      [Array.from({ length: 17 }, () => ({ tool: 'desk_lamp_turn_on' })), [null], ['desk_lamp_turn_on'], [{ params: {} }], {}],
      (steps) => me.invoke('sequence', { steps }),
    ),
  ),
  harmless('a job with a sequence on another device', async (me, { beacon }) => {
    const steps = [{ tool: 'turn_on_light', params: { device_id: beacon.id } }];
    const started = await me.invoke('sequence', { steps }, { query: '?async=true' });
    const path = /location: (\S+)/i.exec(started.heard)?.[1] ?? '/api/v1/jobs/none';
    // How often it is asked until the job has ended says nothing of what is told.
    for (let left = 100; left > 0; left--) {
      const { body } = await me.again().get(path);
      if (/"status":"(succeeded|failed)"/.test(body)) break;
      await sleep(200);
    }
    await me.get(path);
  }),
  refused('jobs on other devices', (me, { lock, beacon }) =>
    each([`matter:${lock.slug}_unlock`, `matter:${beacon.slug}_turn_on`], (tool) => me.invoke(tool, {}, { query: '?async=true' })),
  ),
  refused('jobs of others: read, cancelled, by door and by tool', async (me, { job }) => {
    await me.get(`/api/v1/jobs/${job}`);
    await me.send({ method: 'DELETE', path: `/api/v1/jobs/${job}` });
    await me.invoke('job_status', { job_id: job });
    await me.invoke('job_cancel', { job_id: job });
  }),
  refused('the idempotency key of somebody else, for the answer to their call', (me, { idempotencyKey, sensor }) =>
    each(
      [
        ['query_sensor', { sensor_id: sensor }],
        ['hub:list_tokens', {}],
      ] as const,
      ([tool, params]) => me.invoke(tool, params, { headers: { 'idempotency-key': idempotencyKey } }),
    ),
  ),
  harmless('the same key for a call of its own', (me, { idempotencyKey }) =>
    me.invoke('echo', { value: 1 }, { headers: { 'idempotency-key': idempotencyKey } }),
  ),
];
