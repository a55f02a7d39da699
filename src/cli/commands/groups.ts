import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, objectsOf } from '../../core/json.ts';
import { type Invocation, usage } from '../command.ts';
import { parseJsonObject, readInput } from '../input.ts';
import { cellText } from '../terminal/text-table.ts';
import { endpointTexts, parseEndpoint, type ToolCommand, toolCommand } from '../tool-command.ts';

const SOURCE = {
  name: 'SOURCE',
  help: 'device that sends, such as a switch; DEVICE/PART where it has several ("atmo devices DEVICE" numbers them)',
};
const TARGET = { name: 'TARGET', help: 'device that is told what to do, or DEVICE/PART' };
const CLUSTER = {
  cluster: { value: 'NAME', param: 'cluster', help: 'only this function of Matter, such as OnOff ("atmo devices DEVICE" lists them)' },
};
const GROUP = { name: 'GROUP', help: 'number or unique name of the group' };
const MEMBER = { name: 'MEMBER', help: 'DEVICE, or DEVICE/PART where it has several' };
const memberParams = async (call: Invocation) => ({ group: await groupOf(call), ...parseEndpoint(call.operand(1)) });

const VERBS: readonly ToolCommand[] = [
  {
    name: 'device bindings',
    summary: 'what a device controls by itself',
    examples: ['device bindings hall-switch/1'],
    tool: 'hub:get_bindings',
    operands: [SOURCE],
    params: (call) => parseEndpoint(call.operand(0)),
  },
  {
    name: 'device bind',
    summary: 'let one device control another without the hub',
    examples: ['device bind hall-switch/1 hall-lamp/1 --cluster OnOff'],
    tool: 'hub:bind_devices',
    operands: [SOURCE, TARGET],
    options: CLUSTER,
    params: bindingParams,
  },
  {
    name: 'device unbind',
    summary: 'end what bind began',
    examples: ['device unbind hall-switch/1 hall-lamp/1'],
    tool: 'hub:unbind_devices',
    operands: [SOURCE, TARGET],
    options: CLUSTER,
    params: bindingParams,
  },
  {
    name: 'groups',
    summary: 'the groups and their members',
    examples: ['groups'],
    tool: 'hub:list_groups',
    columns: ['id', 'name', 'members'],
  },
  {
    name: 'group create',
    summary: 'make a group of devices that one message reaches',
    examples: ['group create evening living-room-lamp hall-lamp/1'],
    tool: 'hub:create_group',
    operands: [
      { name: 'NAME', help: 'what to call it' },
      { ...MEMBER, isRepeated: true },
    ],
    params: ({ operands: [name = '', ...members] }) => ({ name, members: members.map(parseEndpoint) }),
    sentence: groupSentence,
  },
  {
    name: 'group add',
    summary: 'add a device to a group',
    examples: ['group add evening kitchen-lamp'],
    tool: 'hub:add_group_member',
    operands: [GROUP, MEMBER],
    params: memberParams,
    sentence: groupSentence,
  },
  {
    name: 'group drop',
    summary: 'take a device out of a group',
    examples: ['group drop evening kitchen-lamp'],
    tool: 'hub:remove_group_member',
    operands: [GROUP, MEMBER],
    params: memberParams,
    sentence: groupSentence,
  },
  {
    name: 'group remove',
    summary: 'remove a group from its members and from the hub',
    examples: ['group remove evening'],
    tool: 'hub:delete_group',
    operands: [GROUP],
    params: async (call) => ({ group: await groupOf(call) }),
    sentence: (_result, call) => `group ${call.operand(0)} is removed`,
  },
  {
    name: 'group call',
    summary: 'send one command to all members at once; nobody acknowledges it',
    examples: [
      'group call evening OnOff Off',
      `group call evening LevelControl MoveToLevel --params '{"level": 80, "transitionTime": 10}'`,
    ],
    tool: 'hub:invoke_group',
    operands: [
      GROUP,
      { name: 'CLUSTER', help: 'function of the devices by its name in Matter, such as OnOff ("atmo devices DEVICE" lists them)' },
      { name: 'COMMAND', help: 'command of that function in Matter, such as Off' },
    ],
    options: { params: { value: 'JSON', help: 'fields of the command as Matter has them, in its units' } },
    params: async (call) => ({
      group: await groupOf(call),
      cluster: call.operand(1),
      command: call.operand(2),
      params: parseJsonObject(await readInput(call.text('params') ?? '{}', call.io), '--params'),
    }),
    sentence: ({ members }) => `sent to ${members === 1 ? '1 device' : `${cellText(members)} devices`}; none of them says whether it came`,
  },
];

function groupSentence({ id, name, members }: JsonObject): string {
  const texts = endpointTexts(members);
  return `group ${cellText(id)}, ${cellText(name)}: ${texts.length > 0 ? texts.join(', ') : 'nobody is in it'}`;
}

function bindingParams({ operands: [source = '', target = ''] }: Invocation) {
  if (source === target) throw usage('SOURCE and TARGET have to be different');
  const { device_id, endpoint } = parseEndpoint(target);
  return { ...parseEndpoint(source), target_device_id: device_id, target_endpoint: endpoint };
}

async function groupOf(call: Invocation): Promise<number> {
  const text = call.operand(0);
  if (/^\d{1,5}$/.test(text)) return Number(text);
  const named = objectsOf(await call.hub.call('hub:list_groups', {})).filter(({ name }) => name === text);
  const [group, other] = named;
  if (typeof group?.id === 'number' && !other) return group.id;
  if (other) throw usage(`${named.length} groups are called ${JSON.stringify(text)}; give the number that "atmo groups" shows`);
  throw new AtmoError('NOT_FOUND', `There is no group ${JSON.stringify(text)}; "atmo groups" lists them`);
}

/** The commands about bindings and groups. Each calls one tool. */
export const groupCommands = VERBS.map(toolCommand);
