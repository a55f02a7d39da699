import { commandOf, integerOperand, type ToolVerb } from '../device-verbs.ts';
import { jsonList, readInput } from '../terminal/text-input.ts';
import { cellText } from '../terminal/text-table.ts';

const DEVICE = { name: 'DEVICE', help: 'device id or unique name' };
const justDevice: Pick<ToolVerb, 'operands' | 'params'> = { operands: [DEVICE], params: (call) => ({ device_id: call.operand(0) }) };

const VERBS: readonly ToolVerb[] = [
  {
    name: 'device rename',
    summary: 'give a device another name; its old tool names stay valid until restart',
    examples: ["device rename living-room-lamp 'Reading lamp'"],
    tool: 'hub:rename_device',
    operands: [DEVICE, { name: 'NAME', help: 'the new name' }],
    params: (call) => ({ device_id: call.operand(0), name: call.operand(1) }),
    sentence: ({ id, name }) =>
      `${cellText(id)} is called ${cellText(name)}: atmo tools --device ${cellText(id)} has the new names of its tools`,
  },
  {
    name: 'device area',
    summary: 'say where a device is; without AREA it is nowhere',
    examples: ["device area living-room-lamp 'Living room'", 'device area living-room-lamp'],
    tool: 'hub:set_device_area',
    operands: [DEVICE, { name: 'AREA', help: 'such as kitchen', isOptional: true }],
    params: ({ operands: [device = '', area] }) => ({ device_id: device, ...(area !== undefined && { area }) }),
    sentence: ({ id, area }) => `${cellText(id)} is ${typeof area === 'string' ? `in ${area}` : 'in no area'}`,
  },
  {
    name: 'device identify',
    summary: 'let a device blink or beep',
    examples: ['device identify living-room-lamp --seconds 5'],
    tool: 'hub:identify_device',
    operands: [DEVICE],
    options: { seconds: { value: 'N', help: 'for how long, 10 by default' } },
    params: (call) => ({ device_id: call.operand(0), seconds: call.integer('seconds') ?? 10 }),
    sentence: (_result, call) => `${call.operand(0)} blinks or beeps for ${call.integer('seconds') ?? 10} s`,
  },
  {
    name: 'device ping',
    summary: 'ask a device whether it is there, and how fast',
    examples: ['device ping living-room-lamp'],
    tool: 'hub:ping_device',
    ...justDevice,
    sentence: ({ round_trip_ms: took }, call) => `${call.operand(0)} answered within ${cellText(took)} ms`,
  },
  {
    name: 'device interview',
    summary: 'read again all that a device has',
    examples: ['device interview living-room-lamp'],
    tool: 'hub:interview_device',
    ...justDevice,
  },
  {
    name: 'device fabrics',
    summary: 'which controllers a device belongs to',
    examples: ['device fabrics living-room-lamp'],
    tool: 'hub:list_fabrics',
    columns: ['fabric_index', 'label', 'vendor_id', 'fabric_id', 'is_ours'],
    ...justDevice,
  },
  {
    name: 'device remove-fabric',
    summary: "take a device away from another controller, by the index that 'device fabrics' shows",
    examples: ['device remove-fabric living-room-lamp 2'],
    tool: 'hub:remove_fabric',
    operands: [DEVICE, { name: 'INDEX', help: 'fabric index' }],
    params: (call) => ({ device_id: call.operand(0), fabric_index: integerOperand(call, 1, 'INDEX') }),
  },
  {
    name: 'device remove',
    summary: 'take a device out of the home; it can be commissioned again afterwards',
    examples: ['device remove living-room-lamp', 'device remove living-room-lamp --force'],
    tool: 'hub:remove_device',
    operands: [DEVICE],
    options: { force: { help: 'forget it even if it does not answer' } },
    params: (call) => ({ device_id: call.operand(0), force: call.isSet('force') }),
  },
  {
    name: 'device diagnostics',
    summary: 'what a device tells of its hardware and network',
    examples: ['device diagnostics living-room-lamp'],
    tool: 'hub:device_diagnostics',
    ...justDevice,
  },
  {
    name: 'device acl',
    summary: 'what our fabric lets others do on a device',
    examples: ['device acl living-room-lamp --json'],
    tool: 'hub:get_access_control',
    ...justDevice,
  },
  {
    name: 'device set-acl',
    summary: "replace the entries that 'device acl --json' shows",
    examples: ['device set-acl living-room-lamp @entries.json'],
    tool: 'hub:set_access_control',
    operands: [DEVICE, { name: 'ENTRIES', help: 'JSON list, as @FILE or - for stdin' }],
    params: async (call) => ({ device_id: call.operand(0), entries: jsonList(await readInput(call.operand(1), call.io), 'ENTRIES') }),
  },
];

/** Administration of single devices: each verb is one tool. */
export const deviceAdminCommands = VERBS.map(commandOf);
