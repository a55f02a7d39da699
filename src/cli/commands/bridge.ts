import { type JsonObject, objectOf } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';
import { codesText } from './share.ts';

const list = requestCommand({
  name: 'bridge list',
  summary: 'the things that Matter ecosystems see',
  examples: ['bridge list', 'bridge list --all'],
  options: { all: { help: 'also what can be bridged' } },
  request: (call) => call.hub.call('hub:list_bridged', { candidates: call.isSet('all') }),
  text(answer) {
    const things = objectsIn(answer, 'things');
    const rows = things.map(({ name, kind, bridge, reachable, thing }) => [name, kind, bridge, reachable ? 'yes' : 'no', thing]);
    const remarks = [...objectsIn(answer, 'bridges').flatMap(problemText), ...things.flatMap(suspensionText)];
    const candidates = objectsIn(answer, 'candidates');
    const others = candidates.map(({ name, thing, type, hub }) => [name, thing, type, hub]);
    return [
      textTable(['NAME', 'KIND', 'BRIDGE', 'REACHABLE', 'THING'], rows),
      ...remarks.map((remark) => `\n${remark}\n`),
      ...(others.length > 0 ? ['\nCan be bridged\n', textTable(['NAME', 'ID', 'TYPE', 'HUB'], others)] : []),
    ];
  },
});

function problemText({ bridge, problem }: JsonObject): readonly string[] {
  return problem === undefined ? [] : [`Bridge ${String(bridge)} is not open and is tried again: ${String(problem)}`];
}

function suspensionText({ name, thing, suspended }: JsonObject): readonly string[] {
  const add = `sudo atmo bridge add ${String(thing)}`;
  if (suspended === 'gone') return [`${String(name)} is gone. sudo atmo bridge remove ${String(thing)} takes it from the bridge`];
  if (suspended === 'widened')
    return [`${String(name)} controls more than when you chose it, so no ecosystem may use it: ${add} shares it as it is now`];
  if (suspended === 'dangerous')
    return [`${String(name)} became dangerous since you chose it, so no ecosystem may use it: ${add} --dangerous shares it nevertheless`];
  return [];
}

const add = toolCommand({
  name: 'bridge add',
  summary: 'let Matter ecosystems see a sensor, output or scene of this hub, or a device of another hub',
  examples: ['bridge add greenhouse', "bridge add 'Good night'", 'bridge add attic-light --hub attic'],
  tool: 'hub:bridge_device',
  operands: [{ name: 'THING', help: 'id or name, as atmo bridge list --all lists it', param: 'thing' }],
  options: {
    hub: { value: 'HUB', help: 'id or name of the other hub that has the device', param: 'hub' },
    dangerous: {
      help: 'also a lock, a dangerous output, or a scene with either; what is dangerous still needs an approval',
      param: 'dangerous',
    },
  },
  sentence: (answer) => objectsIn(answer, 'things').map(addedText).join('\n'),
});

function addedText({ name, kind, bridge }: Readonly<Record<string, unknown>>): string {
  return `${String(name)} is on bridge ${String(bridge)}: ${String(kind).replaceAll('_', ' ')}`;
}

const remove = toolCommand({
  name: 'bridge remove',
  summary: 'take a thing from its bridge; the ecosystems lose it',
  examples: ['bridge remove pump'],
  tool: 'hub:unbridge_device',
  operands: [{ name: 'THING', help: 'name, or as atmo bridge list lists it', param: 'thing' }],
  sentence: ({ name }) => `${String(name)} is bridged no longer`,
});

const code: Command = {
  name: 'bridge code',
  summary: 'open a bridge for one more ecosystem and show the QR code to scan there',
  examples: ['bridge code', 'bridge code --bridge 2'],
  options: {
    bridge: { value: 'N', help: 'number of the bridge, 1 by default' },
    seconds: { value: 'N', help: 'how long it stays open: 180 to 900, 900 by default' },
  },
  async run(call) {
    const answer = await call.hub.call('hub:open_bridge', { bridge: call.integer('bridge') ?? 1, seconds: call.integer('seconds') ?? 900 });
    const text = await codesText(objectOf(answer), call.output);
    call.output.answer(answer, () => text);
  },
};

const ecosystems = requestCommand({
  name: 'bridge ecosystems',
  summary: 'the Matter ecosystems that have commissioned a bridge',
  examples: ['bridge ecosystems'],
  request: ({ hub }) => hub.call('hub:list_ecosystems', {}),
  text(answer) {
    const rows = objectsIn(answer, 'ecosystems').map(({ ecosystem, label, vendor, bridge, joined_at: joined }) => [
      ecosystem,
      label,
      vendor,
      bridge,
      joined,
    ]);
    return textTable(['ECOSYSTEM', 'LABEL', 'VENDOR', 'BRIDGE', 'SINCE'], rows);
  },
});

const forget = toolCommand({
  name: 'bridge forget',
  summary: 'remove an ecosystem from its bridge; to come back it needs a new code',
  examples: ['bridge forget ecosystem-1'],
  tool: 'hub:remove_ecosystem',
  operands: [{ name: 'ECOSYSTEM', help: 'as atmo bridge ecosystems lists it', param: 'ecosystem' }],
  sentence: ({ ecosystem }) => `${String(ecosystem)} is removed`,
});

/** The commands about bridges to other Matter ecosystems. */
export const bridgeCommands: readonly Command[] = [list, add, remove, code, ecosystems, forget];
