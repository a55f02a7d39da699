import { type JsonObject, textsOf } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';

const AREA = { name: 'AREA', help: 'such as kitchen, as atmo areas lists it', param: 'area' };
const ALIASES = {
  name: 'ALIAS',
  help: 'other names, which replace those of before; none takes them away',
  isOptional: true,
  isRepeated: true,
} as const;
const TOOL = 'hub:describe_area';

const list = requestCommand({
  name: 'areas',
  summary: 'the areas of the home: their floors, other names and devices',
  examples: ['areas', 'areas --json'],
  request: ({ hub }) => hub.get('/api/v1/areas'),
  text: (answer) => textTable(['AREA', 'FLOOR', 'ALSO CALLED', 'DEVICES'], objectsIn(answer, 'areas').map(areaRow)),
});

const floor = toolCommand({
  name: 'area floor',
  summary: 'say on which floor an area is; without FLOOR on none',
  examples: ['area floor bedroom Upstairs', 'area floor bedroom'],
  tool: TOOL,
  operands: [AREA, { name: 'FLOOR', help: 'such as "Ground floor"', isOptional: true }],
  params: ({ operands: [, floor = ''] }) => ({ floor }),
  sentence: (_result, { operands: [area, name] }) => (name === undefined ? `${area} is on no floor` : `${area} is on ${name}`),
});

const alias = toolCommand({
  name: 'area alias',
  summary: 'say what else an area is called; searches and agents then know it by those names too',
  examples: ["area alias 'Living room' lounge parlour", "area alias 'Living room'"],
  tool: TOOL,
  operands: [AREA, ALIASES],
  params: (call) => ({ aliases: namesAfter(call) }),
  sentence: (_result, call) => aliasSentence(call),
});

const order = toolCommand({
  name: 'area order',
  summary: 'set the order in which rooms are shown to everybody; those left out come after, by name',
  examples: ["area order Kitchen 'Living room' Bedroom"],
  tool: 'hub:order_areas',
  operands: [{ name: AREA.name, help: AREA.help, isRepeated: true }],
  params: ({ operands }) => ({ areas: [...operands] }),
  sentence: ({ areas }) => `The rooms come in this order: ${textsOf(areas).join(', ')}`,
});

const floorOrder = toolCommand({
  name: 'area floor-order',
  summary: 'set the order in which floors are shown to everybody',
  examples: ["area floor-order 'Ground floor' Upstairs"],
  tool: 'hub:order_areas',
  operands: [{ name: 'FLOOR', help: 'such as "Ground floor"', isRepeated: true }],
  params: ({ operands }) => ({ floors: [...operands] }),
  sentence: ({ floors }) => `The floors come in this order: ${textsOf(floors).join(', ')}`,
});

const rename = toolCommand({
  name: 'area rename',
  summary: 'give a room another name; its devices move along, and the old name goes on meaning it, in grants and rules too',
  examples: ["area rename lounge 'Living room'", 'area rename pantry Kitchen --merge'],
  tool: 'hub:rename_area',
  operands: [AREA, { name: 'NAME', help: 'the new name', param: 'name' }],
  options: { merge: { help: 'join it to the room that has that name already', param: 'merge' } },
  sentence: (result) => {
    const { area, moved } = result;
    const users = objectsIn(result, 'used_by').map(({ kind, id }) => `${kind} ${id}`);
    const known = users.length === 0 ? '' : `\nGo on naming it as before: ${users.join(', ')}`;
    const count = Array.isArray(moved) ? moved.length : 0;
    if (count === 0) return `The room is called ${String(area)} already`;
    return `The room is called ${String(area)} now; ${count === 1 ? '1 device' : `${count} devices`} moved along${known}`;
  },
});

const freeName = toolCommand({
  name: 'area free-name',
  summary: 'free a name that a room had before, so that another room can have it',
  examples: ['area free-name lounge'],
  tool: 'hub:free_area_name',
  operands: [{ name: 'NAME', help: 'former name of a room', param: 'name' }],
  options: { confirm: { help: 'although something uses it', param: 'confirm' } },
  sentence: ({ area, freed }) => `${String(freed)} means ${String(area)} no more`,
});

const deviceAlias = toolCommand({
  name: 'device alias',
  summary: 'say what else a device is called; searches and agents then know it by those names too',
  examples: ["device alias living-room-lamp 'reading light' Leselampe", 'device alias living-room-lamp'],
  tool: 'hub:set_device_aliases',
  operands: [{ name: 'DEVICE', help: 'device id or unique name', param: 'device_id' }, ALIASES],
  params: (call) => ({ aliases: namesAfter(call) }),
  sentence: (_result, call) => aliasSentence(call),
});

/** The commands about areas, floors and aliases of devices. */
export const areaCommands: readonly Command[] = [list, floor, alias, order, floorOrder, rename, freeName, deviceAlias];

function namesAfter(call: Invocation): string[] {
  const names = call.operands.slice(1).map((name) => name.trim());
  if (names.includes('')) throw usage('An alias cannot be empty');
  return names;
}

function aliasSentence(call: Invocation): string {
  const [thing, ...names] = call.operands;
  return names.length === 0 ? `${thing} has no other names` : `${thing} is also called ${names.join(', ')}`;
}

function areaRow({ area, floor: onFloor, aliases, devices }: JsonObject): readonly unknown[] {
  return [area, onFloor, aliases, Array.isArray(devices) ? devices.length : 0];
}
