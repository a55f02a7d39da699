import { foldedName } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { cellText } from '../terminal/text-table.ts';

const OLD_DEVICE: Readonly<Record<string, string>> = {
  left: 'The old device left this hub. Other apps that it was shared with still have it, and the new one has to be shared with them anew.',
  forgotten:
    'The old device did not answer and is forgotten; reset it before you use it again. Other apps that it was shared with do not have the new one yet.',
};

/** The command that replaces a device. At a terminal it says first what moves and what cannot be undone, and asks. */
export const deviceReplace: Command = {
  name: 'device replace',
  summary: 'put a newly added device into the place of a broken one, which leaves the home; asks first, since it cannot be undone',
  examples: ['device replace living-room-lamp new-lamp', 'device replace living-room-lamp new-lamp --confirm'],
  operands: [
    { name: 'OLD', help: 'id or unique name of the old device; its id if it was removed', completes: 'device' },
    { name: 'NEW', help: 'id or unique name of the device that was added for it', completes: 'device' },
  ],
  options: { confirm: { help: 'also where something uses what the new device lacks' } },
  async run(call) {
    for (const line of await plannedLines(call)) call.output.note(line);
    const isWanted = call.output.isJson || (await isAgreed(call));
    if (!isWanted) return call.output.note('Nothing was replaced');
    const [device, by] = [call.operand(0), call.operand(1)];
    const params = { device_id: device, new_device_id: by, confirm: call.isSet('confirm') };
    const result = await call.output.during('atmo device replace', () => call.hub.call('hub:replace_device', params));
    call.output.answer(result, () => `${replacementText(objectOf(result))}\n`);
  },
};

/** Returns false if a person at a terminal does not type yes. A program without a terminal has decided already. */
async function isAgreed({ io }: Invocation): Promise<boolean> {
  const typed = await io.askLine('Replace it? Type yes: ');
  if (typed === undefined) return true;
  return typed !== 'end_of_input' && typed.line.trim().toLowerCase() === 'yes';
}

/** Returns what the replacement will do. What the caller cannot read is left out; the call itself then says why. */
async function plannedLines(call: Invocation): Promise<readonly string[]> {
  const [old, by] = [call.operand(0), call.operand(1)];
  const devices = await readable(call.hub.get('/api/v1/devices'));
  const names = await readable(call.hub.call('hub:list_device_names', { name: old }));
  const here = objectsOf(devices.devices);
  const uses = usesText(objectsOf(names.devices)[0]?.used_by);
  return planText({ old: deviceText(old, here), by: deviceText(by, here), uses });
}

async function readable(answer: Promise<Json>): Promise<JsonObject> {
  try {
    return objectOf(await answer);
  } catch (thrown) {
    if (thrown instanceof AtmoError) return {};
    throw thrown;
  }
}

interface Plan {
  readonly old: string;
  readonly by: string;
  readonly uses: string;
}

function planText({ old, by, uses }: Plan): readonly string[] {
  return [
    `Leaves the home:  ${old}`,
    `Takes its place:  ${by}`,
    `It gets the id, name, room, rights, groups and history of the old one${uses === '' ? '' : `, and these go on with it: ${uses}`}`,
    'This cannot be undone: the old device would have to be added again, as a new one',
  ];
}

function deviceText(named: string, devices: readonly JsonObject[]): string {
  const found = devices.find(({ id, name }) => id === named || foldedName(String(name)) === foldedName(named));
  if (!found) return cellText(named);
  const { id, name, area, reachability } = found;
  const place = typeof area === 'string' ? `, ${cellText(area)}` : '';
  return `${cellText(id)}: ${cellText(name)}${place}${reachability === 'unreachable' ? ' (does not answer)' : ''}`;
}

/** Returns what became of both devices, and what the new one cannot do that the old one could. */
function replacementText(result: JsonObject): string {
  const { device_id: id, former_device_id: former, old_device: old, used_by: uses } = result;
  const lacking = [...textsOf(result.lacking_tools), ...textsOf(result.lacking_readings)];
  const users = usesText(uses);
  const groups = textsOf(result.groups_left);
  return [
    `${cellText(former)} is ${cellText(id)} now, with its name, room, grants, automations, scenes and history`,
    ...[OLD_DEVICE[String(old)] ?? []].flat(),
    ...(lacking.length > 0 ? [`It lacks ${lacking.map(cellText).join(', ')}${users === '' ? '' : `, which ${users} uses`}`] : []),
    ...(groups.length > 0 ? [`It could not join the groups ${groups.join(', ')}; add it to them when it answers`] : []),
  ].join('\n');
}

/** Returns what uses a device or its names, such as `automation night, scene Movie`. */
export function usesText(uses: Json | undefined): string {
  return objectsOf(uses)
    .map(({ kind, id }) => `${cellText(kind)} ${cellText(id)}`)
    .join(', ');
}
