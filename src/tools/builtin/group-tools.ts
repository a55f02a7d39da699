import { type Effect, maxRisk } from '../../core/auth/principal.ts';
import type { DeviceEndpoint, GroupInfo } from '../../core/devices/device-administration.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, INTEGER, p, resultSchema } from '../definition/define-tool.ts';
import type { CallerView, RegisteredTool } from '../definition/tool-definition.ts';
import { snakeJson } from '../schema/plain-json.ts';
import {
  ACTS_ON_HUB,
  type AdminPorts,
  actsOnDevice,
  DONE,
  deviceOf,
  deviceParameter,
  done,
  endpointParameter,
  READS_WHOLE_HUB,
  requireOwnEndpoint,
} from './hub-tool.ts';

const groupParameter = p.integer({ description: 'Group id from list_groups', minimum: 1, maximum: 65_535 });
const member = { device_id: deviceParameter, endpoint: endpointParameter };
const onMember = { group: groupParameter, ...member };

type MemberParameters = { readonly device_id: string; readonly endpoint: number };

/** Returns the tools for groups of devices, which receive a command in one multicast message. */
export function groupTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [
    listGroupsTool(ports),
    createGroupTool(ports),
    addMemberTool(ports),
    removeMemberTool(ports),
    deleteGroupTool(ports),
    invokeGroupTool(ports),
  ];
}

function listGroupsTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'list_groups',
      title: 'List groups',
      description: 'Lists the groups of devices with their members.',
      parameters: {},
    },
    async () => snakeJson(administration.groups()),
  );
}

function createGroupTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'create_group',
      title: 'Create a group',
      description: 'Makes a group of devices that obey one command together.',
      parameters: {
        name: p.string({ description: 'Name for people', minLength: 1, maxLength: 16, isGivenName: true }),
        members: p.array(p.object(member, { description: 'One member' }), { description: 'Its first members', maxItems: 100, default: [] }),
      },
      effects: ({ members }) => [hubEffect('create_group'), ...members.map((item) => joinEffect(ports, item))],
      canonicalize: (params, caller) => ({ ...params, members: params.members.map((item) => canonicalMember(ports, item, caller)) }),
    },
    async ({ name, members }, { signal }) => snakeJson(await ports.administration.createGroup(name, members.map(toMember), { signal })),
  );
}

function addMemberTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...forMember(ports),
      name: 'add_group_member',
      title: 'Add a device to a group',
      description: 'Adds an endpoint of a device to a group.',
      isIdempotent: true,
      parameters: onMember,
      effects: (params) => [joinEffect(ports, params)],
    },
    async ({ group, ...params }, { signal }) => snakeJson(await ports.administration.addGroupMember(group, toMember(params), { signal })),
  );
}

function removeMemberTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...forMember(ports),
      name: 'remove_group_member',
      title: 'Take a device out of a group',
      description: 'Takes an endpoint of a device out of a group.',
      isIdempotent: true,
      parameters: onMember,
    },
    async ({ group, ...params }, { signal }) =>
      snakeJson(await ports.administration.removeGroupMember(group, toMember(params), { signal })),
  );
}

function deleteGroupTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'delete_group',
      title: 'Delete a group',
      description: 'Deletes a group; its devices stay.',
      parameters: { group: groupParameter },
      returns: DONE,
      effects: ({ group }) => [
        hubEffect('delete_group'),
        ...requireGroup(ports, group).members.map(({ device }) => memberEffect({ device_id: device })),
      ],
    },
    async ({ group }, { signal }) => done(ports.administration.deleteGroup(group, { signal })),
  );
}

function invokeGroupTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'invoke_group',
      isDestructive: true,
      title: 'Command a group',
      description:
        'Sends one command to all members of a group at once. Matter gives no acknowledgement for it: read the members to be sure.',
      parameters: {
        group: groupParameter,
        cluster: p.string({ description: 'Cluster name of the Matter specification, such as OnOff', maxLength: 64 }),
        command: p.string({ description: 'Command name, such as Off', maxLength: 64 }),
        params: p.record({ description: 'Fields of the command in raw Matter units', default: {} }),
      },
      returns: resultSchema({ sent: { const: true }, members: INTEGER }, ['members']),
      effects: ({ group, cluster, command, params }) =>
        requireGroup(ports, group).members.map(({ device: member, endpoint }) => {
          const device = ports.bounds.ownerOf(member, endpoint) ?? member;
          return {
            permission: `device:control:${device}`,
            // A device's own tools can have a higher risk than the command in general: a plug may open a garage. The higher risk counts.
            risk: maxRisk(ports.riskOf(cluster, command), ports.bounds.riskOfCommand({ device, endpoint, cluster, command })),
            target: `${member}/${endpoint}/${cluster}/${command}`,
            device,
            ...ports.bounds.outcomeOf({ device, endpoint, cluster, command }, params),
          };
        }),
    },
    async ({ group, cluster, command, params }, { signal }) => {
      await ports.administration.invokeGroup(group, cluster, command, params, { signal });
      return { sent: true, members: requireGroup(ports, group).members.length };
    },
  );
}

function requireGroup({ administration }: AdminPorts, id: number): GroupInfo {
  const group = administration.groups().find((candidate) => candidate.id === id);
  if (!group) throw new AtmoError('NOT_FOUND', `There is no group ${id}; see list_groups (atmo groups)`);
  return group;
}

function canonicalMember(ports: AdminPorts, params: MemberParameters, caller: CallerView): MemberParameters {
  const device = ports.devices.resolve(params.device_id, caller);
  requireOwnEndpoint(ports, device, params.endpoint);
  return { ...params, device_id: device };
}

function forMember(ports: AdminPorts) {
  return {
    ...actsOnDevice(ports),
    canonicalize: (params: MemberParameters, caller: CallerView): JsonObject => ({ ...canonicalMember(ports, params, caller) }),
  };
}

function toMember(params: MemberParameters): DeviceEndpoint {
  return { device: deviceOf(params), endpoint: params.endpoint };
}

function memberEffect({ device_id: id }: { readonly device_id: string }): Effect {
  const device = parseDeviceId(id);
  return { permission: `admin:device:${device}`, risk: 'low', target: `${device}/groups`, device };
}

/** Returns the effect of joining a group: every member has the group's key and can control the new member with it. */
function joinEffect({ bounds }: AdminPorts, { device_id: id, endpoint }: MemberParameters): Effect {
  const device = parseDeviceId(id);
  const unforeseen = bounds.valuesOn(device, endpoint);
  return { ...memberEffect({ device_id: id }), risk: maxRisk('low', bounds.riskOn(device, endpoint)), unforeseen };
}

function hubEffect(target: string): Effect {
  return { permission: 'admin:hub', risk: 'low', target };
}
