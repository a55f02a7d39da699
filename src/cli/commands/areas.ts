import type { JsonObject } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { commandOf } from '../device-verbs.ts';
import { objectsIn } from '../hub/json-list.ts';
import { textTable } from '../terminal/text-table.ts';

const AREA = { name: 'AREA', help: 'such as kitchen, as atmo areas lists it' };
const ALIASES = {
  name: 'ALIAS',
  help: 'other names, which replace those of before; none takes them away',
  isOptional: true,
  isRepeated: true,
} as const;
const TOOL = 'hub:describe_area';

const list: Command = {
  name: 'areas',
  summary: 'the areas of the home: their floors, other names and devices',
  examples: ['areas', 'areas --json'],
  async run({ hub, output }) {
    const answer = await hub.get('/api/v1/areas');
    output.answer(answer, () => textTable(['AREA', 'FLOOR', 'ALSO CALLED', 'DEVICES'], objectsIn(answer, 'areas').map(areaRow)));
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

function areaRow({ area, floor: onFloor, aliases, devices }: JsonObject): readonly unknown[] {
  return [area, onFloor, aliases, Array.isArray(devices) ? devices.length : 0];
}
