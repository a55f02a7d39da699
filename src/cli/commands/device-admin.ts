import { readableWords } from '../../core/devices/matter-names.ts';
import { type Json, type JsonObject, objectsOf, textsOf } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { parseJsonList, readInput } from '../input.ts';
import { cellText } from '../terminal/text-table.ts';
import { integerOperand, type ToolCommand, toolCommand } from '../tool-command.ts';
import { deviceReplace, usesText } from './device-replace.ts';

const DEVICE = { name: 'DEVICE', help: 'device id or unique name', param: 'device_id' };

/** Texts for people, by the field `served_by` of a cluster. The field says which kind of tools controls the cluster. */
const SERVED_BY: Readonly<Record<string, string>> = {
  profile: 'friendly tools',
  data_model: 'tools in units of Matter',
  administration: 'tools of the hub',
  none: 'no tools of its own',
};

const VERBS: readonly ToolCommand[] = [
  {
    name: 'device rename',
    summary: 'give a device another name; its former names go on meaning it',
    examples: ["device rename living-room-lamp 'Reading lamp'"],
    tool: 'hub:rename_device',
    operands: [DEVICE, { name: 'NAME', help: 'the new name', param: 'name' }],
    sentence: (renamed) => [`${cellText(renamed.id)} is called ${cellText(renamed.name)}`, ...namingLines(renamed)].join('\n'),
  },
  {
    name: 'device names',
    summary: 'list what devices are and were called, removed ones too, and what uses these names',
    examples: ['device names', "device names 'Reading lamp'"],
    tool: 'hub:list_device_names',
    operands: [{ name: 'NAME', help: 'only the device with this id, or with this name now or before', param: 'name', isOptional: true }],
    sentence: ({ devices }) => objectsOf(devices).map(namesText).join('\n'),
  },
  {
    name: 'device free-name',
    summary: 'let another device have a former name, or the names of a removed device',
    examples: ['device free-name bedroom_lamp', 'device free-name bedroom_lamp --confirm'],
    tool: 'hub:free_device_name',
    operands: [{ name: 'NAME', help: "former name as 'device names' shows it, or the id of a removed device", param: 'name' }],
    options: { confirm: { help: 'also where something still uses it', param: 'confirm' } },
    sentence: ({ device_id: device, freed }) => `${cellText(device)} no longer has ${listed(freed)}`,
  },
  {
    name: 'device area',
    summary: 'say where a device is; without AREA it is nowhere',
    examples: ["device area living-room-lamp 'Living room'", 'device area living-room-lamp'],
    tool: 'hub:set_device_area',
    operands: [DEVICE, { name: 'AREA', help: 'such as kitchen', param: 'area', isOptional: true }],
    sentence: ({ id, area }) => `${cellText(id)} is ${typeof area === 'string' ? `in ${area}` : 'in no area'}`,
  },
  {
    name: 'device move',
    summary: 'put a device into a room',
    examples: ["device move living-room-lamp 'Living room'"],
    tool: 'hub:set_device_area',
    operands: [DEVICE, { name: 'AREA', help: 'such as kitchen', param: 'area' }],
    sentence: ({ id, area }) => `${cellText(id)} is in ${cellText(area)}`,
  },
  {
    name: 'device identify',
    summary: 'let a device blink or beep',
    examples: ['device identify living-room-lamp --seconds 5'],
    tool: 'hub:identify_device',
    operands: [DEVICE],
    options: { seconds: { value: 'N', help: 'for how long, 10 by default' } },
    params: (call) => ({ seconds: call.integer('seconds') ?? 10 }),
    sentence: (_result, call) => `${call.operand(0)} blinks or beeps for ${call.integer('seconds') ?? 10} s`,
  },
  {
    name: 'device ping',
    summary: 'ask a device whether it is there, and how fast',
    examples: ['device ping living-room-lamp'],
    tool: 'hub:ping_device',
    operands: [DEVICE],
    sentence: ({ round_trip_ms: took }, call) => `${call.operand(0)} answered within ${cellText(took)} ms`,
  },
  {
    name: 'device interview',
    summary: 'read again all that a device has',
    examples: ['device interview living-room-lamp'],
    tool: 'hub:interview_device',
    columns: ['id', 'name', 'area', 'device_types', 'reachability'],
    operands: [DEVICE],
  },
  {
    name: 'device fabrics',
    summary: 'which controllers (Matter calls them fabrics) a device belongs to',
    examples: ['device fabrics living-room-lamp'],
    tool: 'hub:list_fabrics',
    columns: ['fabric_index', 'label', 'vendor_id', 'fabric_id', 'is_ours'],
    operands: [DEVICE],
  },
  {
    name: 'device remove-fabric',
    summary: "take a device away from another controller, by the index that 'device fabrics' shows",
    examples: ['device remove-fabric living-room-lamp 2'],
    tool: 'hub:remove_fabric',
    operands: [DEVICE, { name: 'INDEX', help: "number of the controller, as 'device fabrics' shows it" }],
    params: (call) => ({ fabric_index: integerOperand(call, 1, 'INDEX') }),
  },
  {
    name: 'device remove',
    summary: 'take a device, or a bridge with all that is behind it, out of the home; it can be commissioned again afterwards',
    examples: ['device remove living-room-lamp', 'device remove living-room-lamp --force', 'device remove hall-bridge --whole-node'],
    tool: 'hub:remove_device',
    operands: [DEVICE],
    options: {
      force: { help: 'forget it even if it does not answer', param: 'force' },
      'whole-node': { help: 'remove everything behind the same bridge too, when DEVICE is one of several', param: 'whole_node' },
    },
    sentence: ({ removed }, call) => {
      const ids = textsOf(removed).map(cellText);
      return ids.length === 1
        ? `${ids[0]} is removed`
        : `${call.operand(0)} is removed: ${ids.length} devices are gone (${ids.join(', ')})`;
    },
  },
  {
    name: 'device recognised',
    summary: 'list devices that seem to have been in the home before they were removed',
    examples: ['device recognised'],
    tool: 'hub:recognised_devices',
    columns: ['device', 'former', 'name'],
  },
  {
    name: 'device restore',
    summary: 'give a device that was commissioned again its former id, with history, names, grants and rules',
    examples: ['device restore living-room-lamp-2', 'device restore hall-bridge-2 --whole-node'],
    tool: 'hub:restore_device',
    operands: [DEVICE],
    options: { 'whole-node': { help: 'also what is behind the same bridge, but for locks, valves and the like', param: 'whole_node' } },
    sentence: ({ restored, left }) =>
      [
        ...objectsOf(restored).map(({ device_id: id, former_device_id: former }) => `${cellText(former)} is ${cellText(id)} again`),
        ...(textsOf(left).length > 0 ? [`Restore these one by one, if they are the same: ${listed(left)}`] : []),
      ].join('\n'),
  },
  {
    name: 'device diagnostics',
    summary: 'what a device tells of its hardware and network',
    examples: ['device diagnostics living-room-lamp'],
    tool: 'hub:device_diagnostics',
    operands: [DEVICE],
    shown: ({ clusters, ...facts }) => ({ ...facts, ...servedText(clusters) }),
  },
  {
    name: 'device acl',
    summary: 'who may do what on a device, by the list that it keeps itself',
    examples: ['device acl living-room-lamp --json'],
    tool: 'hub:get_access_control',
    operands: [DEVICE],
  },
  {
    name: 'device set-acl',
    summary: "replace the entries that 'device acl --json' shows",
    examples: ['device set-acl living-room-lamp @entries.json'],
    tool: 'hub:set_access_control',
    operands: [DEVICE, { name: 'ENTRIES', help: 'JSON list, as @FILE or - for stdin' }],
    params: async (call) => ({ entries: parseJsonList(await readInput(call.operand(1), call.io), 'ENTRIES') }),
  },
];

/** Returns lines about a rename: the new tool names, the old names that remain valid, and warnings about the new name. */
function namingLines({ tools_begin_with: prefix, former_beginnings: former, used_by: uses, warnings }: JsonObject): readonly string[] {
  if (typeof prefix !== 'string') return [];
  const old = textsOf(former).length > 0 ? `; names that begin with ${listed(former)} still mean them` : '';
  const users = usesText(uses);
  return [
    `The names of its tools begin with ${prefix}_${old}`,
    ...(users === '' ? [] : [`Its names are used by ${users}; all of these go on working`]),
    ...textsOf(warnings).map((warning) => `Note: ${cellText(warning)}`),
  ];
}

function namesText({ device_id: id, name, is_removed: isRemoved, former_names: former, used_by: uses, ...rest }: JsonObject): string {
  const called = textsOf(former).length > 0 ? `, before ${listed(former)}` : '';
  const beginnings = [rest.tools_begin_with, ...textsOf(rest.former_beginnings)];
  const users = usesText(uses);
  return [
    `${cellText(id)}${isRemoved === true ? ' (removed)' : ''}: ${cellText(name)}${called}`,
    `  tools: ${beginnings.map((one) => `${cellText(one)}_…`).join(', ')}`,
    ...(users === '' ? [] : [`  used by ${users}`]),
  ].join('\n');
}

/** Groups the names of a device's clusters by the kind of tools that serve them. A group contains each name once. */
function servedText(clusters: Json | undefined): JsonObject {
  const groups = Map.groupBy(objectsOf(clusters), ({ served_by: by }) => SERVED_BY[String(by)] ?? String(by));
  const names = (group: readonly JsonObject[]) => [...new Set(group.map(({ cluster }) => readableWords(String(cluster))))].join(', ');
  return Object.fromEntries([...groups].map(([title, group]) => [title, names(group)]));
}

function listed(texts: Json | undefined): string {
  return textsOf(texts).map(cellText).join(', ');
}

/** The commands that administer one device. Each calls one tool. */
export const deviceAdminCommands: readonly Command[] = [...VERBS.map(toolCommand), deviceReplace];
