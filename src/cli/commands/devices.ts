import { words } from '../../core/devices/matter-words.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { objectsIn } from '../hub/json-list.ts';
import { heading, type Printable, Toned } from '../terminal/page.ts';
import { ageText, cellText, textPairs, textTable } from '../terminal/text-table.ts';
import { allTools } from '../tool-pages.ts';

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
      return undefined;
    }
    const answer = await hub.get('/api/v1/devices');
    const list = objectsIn(answer, 'devices');
    output.answer(answer, () => textTable(['ID', 'NAME', 'AREA', 'TYPE', 'STATE', 'SEEN', 'TOOLS'], list.map(deviceRow)));
    if (list.length === 0 && !output.isJson) output.note('There is no device yet; atmo commission CODE brings one in');
    return undefined;
  },
};

/** Of the devices of another hub this one knows the tools: they tell which there are, where they are, and what they can do. */
async function listElsewhere(call: Invocation): Promise<undefined> {
  const [wanted] = call.operands;
  const devices = new Map<string, { readonly id: string; readonly area: string | null; readonly tools: readonly string[] }>();
  for (const { id, metadata } of await allTools(call.hub, { node: call.text('hub') })) {
    const { device, area } = isJsonObject(metadata) ? metadata : {};
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

/** Whether a device answers, in the colour that says it. */
export function stateCell(reachability: unknown): Toned {
  return new Toned(cellText(reachability), reachability === 'reachable' ? 'good' : 'bad');
}

function deviceText(device: JsonObject): Printable {
  const { endpoints: _endpoints, tools: _tools, readings: _readings, age_ms, ...facts } = device;
  const tools = objectsIn(device, 'tools').map((tool) => [tool.id, tool.title]);
  const readings = objectsIn(device, 'readings').map((reading) => [reading.name, readingText(reading), ageText(reading.age_ms)]);
  const endpoints = objectsIn(device, 'endpoints').map((endpoint) => [
    endpoint.endpoint,
    typesIn(endpoint).join(', '),
    objectsIn(endpoint, 'clusters')
      .map((cluster) => words(String(cluster.name)))
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

/** `DimmableLight` is a `dimmable light` to people. */
function typesIn({ device_types: types }: JsonObject): readonly string[] {
  return Array.isArray(types) ? types.map((type) => words(String(type))) : [];
}

function nameIn(value: unknown): unknown {
  return isJsonObject(value) ? value.name : value;
}

/** A value with its unit. */
export function readingText(reading: JsonObject): string {
  const unit = reading.unit ? ` ${cellText(reading.unit)}` : '';
  return reading.value === null ? '-' : `${cellText(reading.value)}${unit}`;
}

/** A device that was never heard has no age. */
function seenText(ageMs: unknown): string {
  return typeof ageMs === 'number' ? ageText(ageMs) : 'never';
}
