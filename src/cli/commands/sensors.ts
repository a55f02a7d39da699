import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { HUB_OPTION } from '../hub/hub-option.ts';
import { objectsIn } from '../hub/json-list.ts';
import { ageText, textTable } from '../terminal/text-table.ts';
import { readingText, stateCell } from './devices.ts';

export const sensors: Command = {
  name: 'sensors',
  summary: 'every sensor with its value, unit and age',
  examples: ['sensors', 'sensors --area kitchen', 'sensors --kind temperature', 'sensors --hub shed'],
  options: {
    device: { value: 'DEVICE', help: 'only sensors of this device' },
    kind: { value: 'KIND', help: 'only this kind, such as temperature' },
    area: { value: 'AREA', help: 'only sensors in this area' },
    ...HUB_OPTION,
  },
  async run(call) {
    const wish = { device: call.text('device'), kind: call.text('kind'), area: call.text('area') };
    const answer = call.text('hub') === undefined ? await call.hub.get('/api/v1/sensors', wish) : await sensorsElsewhere(call, wish);
    call.output.answer(answer, () =>
      textTable(
        ['SENSOR', 'VALUE', 'AGE', 'AREA', 'DEVICE IS'],
        objectsIn(answer, 'sensors').map((reading) => [
          reading.id,
          readingText(reading),
          ageText(reading.age_ms),
          reading.area,
          stateCell(reading.reachability),
        ]),
      ),
    );
    return undefined;
  },
};

const PAGE = 500;

/** Lists of other hubs are calls of a tool there; what they answer is brought into the form of the list here. */
async function sensorsElsewhere({ hub }: Invocation, wish: Readonly<Record<string, string | undefined>>): Promise<JsonObject> {
  const given = Object.fromEntries(Object.entries(wish).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  const sensors: JsonObject[] = [];
  for (let total = 1; sensors.length < total; ) {
    const page = await hub.call('core:list_sensors', { ...given, limit: PAGE, offset: sensors.length });
    const found = isJsonObject(page) ? objectsIn(page, 'sensors') : [];
    sensors.push(...found.map(asListed));
    total = isJsonObject(page) && found.length > 0 ? Number(page.total) : 0;
  }
  return { sensors };
}

function asListed({
  sensor_id: id = null,
  device_id: device = null,
  timestamp: at = null,
  age_seconds: age,
  ...rest
}: JsonObject): JsonObject {
  return { id, device, ...rest, at, age_ms: typeof age === 'number' ? Math.round(age * 1000) : null };
}
