import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { objectsIn } from '../json-list.ts';
import { heading, type Printable } from '../terminal/page.ts';
import { ageText, cellText, textPairs, textTable } from '../text-table.ts';

export const devices: Command = {
  name: 'devices',
  summary: 'list the devices, or tell all about one',
  examples: ['devices', 'devices living-room-lamp', 'devices --json'],
  operands: [{ name: 'DEVICE', help: 'id or unique name of one device', isOptional: true }],
  async run({ hub, output, operands: [id] }) {
    if (id !== undefined) {
      const device = await hub.get(`/api/v1/devices/${encodeURIComponent(id)}`);
      output.answer(device, () => deviceText(device));
      return undefined;
    }
    const answer = await hub.get('/api/v1/devices');
    output.answer(answer, () =>
      textTable(['ID', 'NAME', 'AREA', 'TYPE', 'STATE', 'SEEN', 'TOOLS'], objectsIn(answer, 'devices').map(deviceRow)),
    );
    return undefined;
  },
};

function deviceRow(device: JsonObject): readonly unknown[] {
  const types = Array.isArray(device.device_types) ? device.device_types : [];
  const tools = Array.isArray(device.tools) ? device.tools.length : 0;
  return [device.id, device.name, device.area, types[0], device.reachability, ageText(device.age_ms), tools];
}

function deviceText(device: JsonObject): Printable {
  const { endpoints: _endpoints, tools: _tools, readings: _readings, age_ms, ...facts } = device;
  const tools = objectsIn(device, 'tools').map((tool) => [tool.id, tool.title]);
  const readings = objectsIn(device, 'readings').map((reading) => [reading.name, readingText(reading), ageText(reading.age_ms)]);
  const endpoints = objectsIn(device, 'endpoints').map((endpoint) => [
    endpoint.endpoint,
    Array.isArray(endpoint.device_types) ? endpoint.device_types.join(', ') : '',
    objectsIn(endpoint, 'clusters')
      .map((cluster) => cellText(cluster.name))
      .join(' '),
  ]);
  return [
    textPairs({ ...facts, vendor: nameIn(facts.vendor), product: nameIn(facts.product), age: ageText(age_ms) }),
    heading('Readings'),
    textTable(['NAME', 'VALUE', 'AGE'], readings),
    heading('Tools'),
    textTable(['TOOL', 'DOES'], tools),
    heading('Endpoints'),
    textTable(['NO', 'TYPES', 'CLUSTERS'], endpoints),
  ];
}

function nameIn(value: unknown): unknown {
  return isJsonObject(value) ? value.name : value;
}

/** A value with its unit. */
export function readingText(reading: JsonObject): string {
  const unit = reading.unit ? ` ${cellText(reading.unit)}` : '';
  return reading.value === null ? '-' : `${cellText(reading.value)}${unit}`;
}
