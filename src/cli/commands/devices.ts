import { readableWords } from '../../core/devices/matter-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, present } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { allTools, objectsIn } from '../hub/answer-lists.ts';
import { heading, type Printable, StyledText } from '../terminal/blocks.ts';
import { ageText, cellText, textPairs, textTable } from '../terminal/text-table.ts';
import { followJob, requestCommand } from '../tool-command.ts';

export const devices: Command = {
  name: 'devices',
  summary: 'list the devices, or tell all about one',
  examples: ['devices', 'devices living-room-lamp', 'devices --hub shed'],
  operands: [{ name: 'DEVICE', help: 'id or unique name of one device', isOptional: true }],
  options: { hub: { value: 'HUB', help: 'those of this other hub of the mesh, by id or name, as its tools tell of them' } },
  async run(call) {
    const { hub, output, operands } = call;
    const [id] = operands;
    if (call.text('hub') !== undefined) return listElsewhere(call);
    if (id !== undefined) {
      const device = await hub.get(`/api/v1/devices/${encodeURIComponent(id)}`);
      output.answer(device, () => deviceText(device));
      return;
    }
    const answer = await hub.get('/api/v1/devices');
    const list = objectsIn(answer, 'devices');
    output.answer(answer, () => textTable(['ID', 'NAME', 'AREA', 'TYPE', 'STATE', 'SEEN', 'TOOLS'], list.map(deviceRow)));
    if (list.length === 0 && !output.isJson) output.note('There is no device yet; atmo commission CODE brings one in');
  },
};

/** Lists the devices of another hub. Finds the devices by that hub's tools: a device's tool has metadata with the device's id and area. */
async function listElsewhere(call: Invocation): Promise<void> {
  const [wanted] = call.operands;
  const devices = new Map<string, { readonly id: string; readonly area: string | null; readonly tools: readonly string[] }>();
  for (const { id, metadata } of await allTools(call.hub, { node: call.text('hub') })) {
    const { device, area } = objectOf(metadata);
    if (typeof device !== 'string' || (wanted !== undefined && device !== wanted)) continue;
    const tools = [...(devices.get(device)?.tools ?? []), String(id)];
    devices.set(device, { id: device, area: typeof area === 'string' ? area : null, tools });
  }
  const list = [...devices.values()];
  if (wanted !== undefined && list.length === 0)
    throw new AtmoError(
      'DEVICE_NOT_FOUND',
      `That hub has no device ${JSON.stringify(wanted)}; "atmo devices --hub ${call.text('hub')}" lists them`,
    );
  call.output.answer({ devices: list }, () =>
    textTable(
      ['ID', 'AREA', 'TOOLS'],
      list.map(({ id, area, tools }) => [id, area, wanted === undefined ? tools.length : tools]),
    ),
  );
}

function deviceRow(device: JsonObject): readonly unknown[] {
  const types = typesIn(device);
  const tools = Array.isArray(device.tools) ? device.tools.length : 0;
  return [device.id, device.name, device.area, types[0], stateCell(device.reachability), seenText(device.age_ms), tools];
}

/** Returns the reachability of a device in words: green if the device is reachable, otherwise red. */
export function stateCell(reachability: unknown): StyledText {
  return new StyledText(cellText(reachability), reachability === 'reachable' ? 'good' : 'bad');
}

function deviceText(device: JsonObject): Printable {
  const { endpoints: _endpoints, tools: _tools, readings: _readings, age_ms, ...facts } = device;
  const tools = objectsIn(device, 'tools').map((tool) => [tool.id, tool.title]);
  const readings = objectsIn(device, 'readings').map((reading) => [reading.name, readingText(reading), ageText(reading.age_ms)]);
  const endpoints = objectsIn(device, 'endpoints').map((endpoint) => [
    endpoint.endpoint,
    typesIn(endpoint).join(', '),
    objectsIn(endpoint, 'clusters')
      .map((cluster) => readableWords(String(cluster.name)))
      .join(', '),
  ]);
  return [
    textPairs({
      ...facts,
      device_types: typesIn(device),
      vendor: nameIn(facts.vendor),
      product: nameIn(facts.product),
      age: seenText(age_ms),
    }),
    heading('Readings'),
    textTable(['NAME', 'VALUE', 'AGE'], readings),
    heading('Tools'),
    textTable(['TOOL', 'DOES'], tools),
    heading('Parts'),
    textTable(['NO', 'TYPES', 'FUNCTIONS'], endpoints),
  ];
}

/** Returns the device types in words: `dimmable light` for `DimmableLight`. */
function typesIn({ device_types: types }: JsonObject): readonly string[] {
  return Array.isArray(types) ? types.map((type) => readableWords(String(type))) : [];
}

function nameIn(value: unknown): unknown {
  return isJsonObject(value) ? value.name : value;
}

/** Returns the value of a reading with its unit. */
export function readingText(reading: JsonObject): string {
  const unit = reading.unit ? ` ${cellText(reading.unit)}` : '';
  return reading.value === null ? '-' : `${cellText(reading.value)}${unit}`;
}

/** Returns how long ago the device's last message arrived, in words. */
function seenText(ageMs: unknown): string {
  return typeof ageMs === 'number' ? ageText(ageMs) : 'never';
}

const deviceUpdates = requestCommand({
  name: 'device updates',
  summary: "which devices have newer software in the hub's folder of images",
  examples: ['device updates'],
  request: ({ hub }) => hub.call('hub:list_updates', {}),
  text: (answer) => listText(objectOf(answer)),
});

const deviceUpdate = requestCommand({
  name: 'device update',
  summary: 'install newer software on a device from an image file, and wait until it tells the new version',
  examples: ['device update living-room-lamp', 'device update living-room-lamp --file lamp-1.4.ota'],
  operands: [{ name: 'DEVICE', help: 'device id or unique name' }],
  options: { file: { value: 'FILE', help: "name of an image that 'device updates' lists; the newest that fits when absent" } },
  async request(call) {
    const params = present({ device_id: call.operand(0), file: call.text('file') });
    const started = await call.hub.post('/api/v1/tools/hub%3Aupdate_device/invoke?async=true', params);
    return followJob(call, String(started.job_id), `Updating ${call.operand(0)}`);
  },
  text: ({ device, from, to }) => `${cellText(device)} went from version ${versionText(from)} to ${versionText(to)}\n`,
});

/** The commands about software updates of devices. */
export const deviceUpdateCommands = [deviceUpdates, deviceUpdate];

function listText(list: JsonObject): Printable {
  const offers = objectsIn(list, 'offers');
  const unfit = objectsIn(list, 'unfit');
  if (offers.length + unfit.length === 0) return `No images; put the *.ota files of your devices into ${cellText(list.folder)}\n`;
  const rows = offers.map(({ device, from, to, file, notes_url: notes = '' }) => [device, versionText(from), versionText(to), file, notes]);
  const reasons = unfit.map(({ file, reason }) => [file, reason]);
  return [
    offers.length > 0 ? textTable(['DEVICE', 'FROM', 'TO', 'FILE', 'NOTES'], rows) : 'No device has newer software here\n',
    ...(reasons.length === 0 ? [] : ['\n', textTable(['FILE', 'NOT FOR ANY DEVICE, SINCE'], reasons)]),
  ];
}

/** Returns a version such as `1.4 (5)`. `1.4` is the manufacturer's text. `5` is the number that decides which version is newer. */
function versionText(version: Json | undefined): string {
  if (!isJsonObject(version)) return '';
  const { number, text } = version;
  return text === '' ? String(number) : `${cellText(text)} (${number})`;
}
