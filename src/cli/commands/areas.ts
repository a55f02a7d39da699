import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { commandOf } from '../device-verbs.ts';
import type { HubClient } from '../hub-client.ts';
import { objectsIn } from '../json-list.ts';
import { textTable } from '../text-table.ts';

const AREA = { name: 'AREA', help: 'such as kitchen, as atmo areas lists it' };
const ALIASES = {
  name: 'ALIAS',
  help: 'other names, which replace those of before; none takes them away',
  isOptional: true,
  isRepeated: true,
} as const;
const TOOL = 'hub:describe_area';

interface Area {
  readonly area: string;
  readonly floor: string | null;
  readonly aliases: readonly string[];
  readonly devices: readonly string[];
}

const list: Command = {
  name: 'areas',
  summary: 'the areas of the home: their floors, other names and devices',
  examples: ['areas', 'areas --json'],
  async run({ hub, output }) {
    const areas = await Promise.all(areasOf(await hub.get('/api/v1/devices')).map((area) => withNames(area, hub)));
    const rows = areas.map(({ area, floor, aliases, devices }) => [area, floor, aliases, devices.length]);
    output.answer({ areas }, () => textTable(['AREA', 'FLOOR', 'ALSO CALLED', 'DEVICES'], rows));
    return undefined;
  },
};

const floor = commandOf({
  name: 'area floor',
  summary: 'say on which floor an area is; without FLOOR on none',
  examples: ['area floor bedroom Upstairs', 'area floor bedroom'],
  tool: TOOL,
  operands: [AREA, { name: 'FLOOR', help: 'such as "Ground floor"', isOptional: true }],
  params: ({ operands: [area = '', name] }) => ({ area, floor: name ?? '' }),
  sentence: (_result, { operands: [area, name] }) => (name === undefined ? `${area} is on no floor` : `${area} is on ${name}`),
});

const alias = commandOf({
  name: 'area alias',
  summary: 'say what else an area is called; searches and agents then know it by those names too',
  examples: ["area alias 'Living room' lounge parlour", "area alias 'Living room'"],
  tool: TOOL,
  operands: [AREA, ALIASES],
  params: (call) => ({ area: call.operand(0), aliases: namesAfter(call) }),
  sentence: (_result, call) => aliasSentence(call),
});

const deviceAlias = commandOf({
  name: 'device alias',
  summary: 'say what else a device is called; searches and agents then know it by those names too',
  examples: ["device alias living-room-lamp 'reading light' Leselampe", 'device alias living-room-lamp'],
  tool: 'hub:set_device_aliases',
  operands: [{ name: 'DEVICE', help: 'device id or unique name' }, ALIASES],
  params: (call) => ({ device_id: call.operand(0), aliases: namesAfter(call) }),
  sentence: (_result, call) => aliasSentence(call),
});

/** Names beside those that devices tell: of areas, floors and devices. */
export const areaCommands: readonly Command[] = [list, floor, alias, deviceAlias];

function namesAfter(call: Invocation): string[] {
  const names = call.operands.slice(1).map((name) => name.trim());
  if (names.includes('')) throw usage('An alias cannot be empty');
  return names;
}

function aliasSentence(call: Invocation): string {
  const [thing, ...names] = call.operands;
  return names.length === 0 ? `${thing} has no other names` : `${thing} is also called ${names.join(', ')}`;
}

/** The areas that devices are in, in the order of their names. */
function areasOf(answer: JsonObject): readonly Area[] {
  const devicesIn = new Map<string, string[]>();
  for (const { id, area } of objectsIn(answer, 'devices')) {
    if (typeof area === 'string') devicesIn.set(area, [...(devicesIn.get(area) ?? []), String(id)]);
  }
  const areas = [...devicesIn].sort(([one], [other]) => one.localeCompare(other));
  return areas.map(([area, devices]) => ({ area, floor: null, aliases: [], devices }));
}

/** The tool leaves as it is what it is not told, and answers what there is. A token that may not ask sees the area alone. */
async function withNames(area: Area, hub: HubClient): Promise<Area> {
  try {
    const names = await hub.call(TOOL, { area: area.area });
    const { floor: onFloor, aliases } = isJsonObject(names) ? names : {};
    return { ...area, floor: typeof onFloor === 'string' ? onFloor : null, aliases: Array.isArray(aliases) ? aliases.map(String) : [] };
  } catch (error) {
    if (error instanceof AtmoError && (error.code === 'TOOL_NOT_FOUND' || error.code === 'PERMISSION_DENIED')) return area;
    throw error;
  }
}
