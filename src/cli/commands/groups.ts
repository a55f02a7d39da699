import { usage } from '../command.ts';
import { commandOf, endpointOf, integerOperand, type ToolVerb } from '../device-verbs.ts';

const SOURCE = { name: 'SOURCE', help: 'DEVICE/ENDPOINT that sends, such as a switch' };
const TARGET = { name: 'TARGET', help: 'DEVICE/ENDPOINT that is told what to do' };
const CLUSTER = { cluster: { value: 'NAME', help: 'only this cluster, such as OnOff' } };
const GROUP = { name: 'GROUP', help: 'number of the group' };

const VERBS: readonly ToolVerb[] = [
  {
    name: 'device bindings',
    summary: 'what a device controls by itself',
    tool: 'hub:list_bindings',
    operands: [SOURCE],
    table: { member: 'bindings', columns: ['node', 'endpoint', 'cluster', 'group'] },
    params: (call) => ({ ...endpointOf(call.operand(0)) }),
  },
  {
    name: 'device bind',
    summary: 'let one device control another without the hub',
    tool: 'hub:bind_devices',
    operands: [SOURCE, TARGET],
    options: CLUSTER,
    params: (call) => bindingParams(call.operand(0), call.operand(1), call.text('cluster')),
  },
  {
    name: 'device unbind',
    summary: 'end what bind began',
    tool: 'hub:unbind_devices',
    operands: [SOURCE, TARGET],
    options: CLUSTER,
    params: (call) => bindingParams(call.operand(0), call.operand(1), call.text('cluster')),
  },
  {
    name: 'groups',
    summary: 'the groups and their members',
    tool: 'hub:list_groups',
    table: { member: 'groups', columns: ['id', 'name', 'members'] },
    params: () => ({}),
  },
  {
    name: 'group create',
    summary: 'make a group of devices that one frame reaches',
    tool: 'hub:create_group',
    operands: [
      { name: 'NAME', help: 'what to call it' },
      { name: 'MEMBER', help: 'DEVICE or DEVICE/ENDPOINT', isRepeated: true },
    ],
    params: ({ operands: [name = '', ...members] }) => ({ name, members: members.map((member) => ({ ...endpointOf(member) })) }),
  },
  {
    name: 'group add',
    summary: 'add a device to a group',
    tool: 'hub:add_group_member',
    operands: [GROUP, { name: 'MEMBER', help: 'DEVICE or DEVICE/ENDPOINT' }],
    params: (call) => ({ group: integerOperand(call, 0), member: { ...endpointOf(call.operand(1)) } }),
  },
  {
    name: 'group drop',
    summary: 'take a device out of a group',
    tool: 'hub:remove_group_member',
    operands: [GROUP, { name: 'MEMBER', help: 'DEVICE or DEVICE/ENDPOINT' }],
    params: (call) => ({ group: integerOperand(call, 0), member: { ...endpointOf(call.operand(1)) } }),
  },
  {
    name: 'group remove',
    summary: 'remove a group from its members and from the hub',
    tool: 'hub:delete_group',
    operands: [GROUP],
    params: (call) => ({ group: integerOperand(call, 0) }),
  },
];

function bindingParams(source: string, target: string, cluster: string | undefined) {
  if (source === target) throw usage('Source and target have to be different endpoints');
  return { source: { ...endpointOf(source) }, target: { ...endpointOf(target), ...(cluster !== undefined && { cluster }) } };
}

/** Bindings and groups: each verb is one tool. */
export const groupCommands = VERBS.map(commandOf);
