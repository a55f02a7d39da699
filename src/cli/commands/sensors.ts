import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf, present, textsOf } from '../../core/json.ts';
import { type Command, durationSeconds, HUB_OPTION, type Invocation, timeOption, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { Query } from '../hub/hub-client.ts';
import { ageText, textTable } from '../terminal/text-table.ts';
import { requestCommand } from '../tool-command.ts';
import { readingText, stateCell } from './devices.ts';

export const sensors = requestCommand({
  name: 'sensors',
  summary: 'every sensor with its value, unit and age',
  examples: ['sensors', 'sensors --area kitchen', 'sensors --kind temperature', 'sensors --hub shed'],
  options: {
    device: { value: 'DEVICE', help: 'only sensors of this device' },
    kind: { value: 'KIND', help: 'only this kind, such as temperature' },
    area: { value: 'AREA', help: 'only sensors in this area' },
    ...HUB_OPTION,
  },
  request(call): Promise<JsonObject> {
    const filter = { device: call.text('device'), kind: call.text('kind'), area: call.text('area') };
    return call.text('hub') === undefined ? call.hub.get('/api/v1/sensors', filter) : sensorsElsewhere(call, filter);
  },
  text: (answer) => textTable(['SENSOR', 'VALUE', 'AGE', 'AREA', 'DEVICE IS'], objectsIn(answer, 'sensors').map(sensorRow)),
});

function sensorRow(reading: JsonObject): readonly unknown[] {
  return [reading.id, readingText(reading), ageText(reading.age_ms), reading.area, stateCell(reading.reachability)];
}

const PAGE = 500;

/** Returns the sensors of another hub, as listed by a tool of that hub. The result has the form of `GET /api/v1/sensors`. */
async function sensorsElsewhere({ hub }: Invocation, filter: Readonly<Record<string, string | undefined>>): Promise<JsonObject> {
  const sensors: JsonObject[] = [];
  for (let total = 1; sensors.length < total; ) {
    const page = await hub.call('core:list_sensors', { ...present(filter), limit: PAGE, offset: sensors.length });
    const found = objectsIn(page, 'sensors');
    sensors.push(...found.map(asListed));
    total = found.length > 0 ? Number(objectOf(page).total) : 0;
  }
  return { sensors };
}

function asListed({ sensor_id: id = null, device_id: device = null, timestamp: at = null, age_seconds: age, ...rest }: JsonObject) {
  return { id, device, ...rest, at, age_ms: typeof age === 'number' ? Math.round(age * 1000) : null };
}

export const read: Command = {
  name: 'read',
  summary: "a sensor's value now, or its history",
  examples: ['read hall-sensor/temperature', 'read hall-sensor/temperature --since 24h --every 1h --agg max'],
  operands: [{ name: 'SENSOR', help: 'sensor id such as hall-sensor/temperature (atmo sensors lists them)' }],
  options: {
    since: { value: 'TIME', help: 'history from here: 24h, 7d, or ISO 8601' },
    until: { value: 'TIME', help: 'history up to here' },
    every: { value: 'WIDTH', help: 'one value for each 5m, 1h, 1d …' },
    agg: { value: 'HOW', help: 'avg, min, max, sum or none', completes: ['avg', 'min', 'max', 'sum', 'none'] },
    limit: { value: 'N', help: 'at most the newest N points' },
    ...HUB_OPTION,
  },
  async run(call) {
    if (call.text('hub') !== undefined) return readElsewhere(call);
    const range = { since: call.text('since'), until: call.text('until'), every: call.text('every'), agg: call.text('agg') };
    const limit = call.integer('limit');
    const isNow = limit === undefined && Object.values(range).every((value) => value === undefined);
    const answer = await readHere(call, isNow ? { limit: 1 } : { ...range, limit });
    if (!answer) return readElsewhere(call);
    const sensor = objectOf(answer.sensor);
    if (isNow && sensor.reachability === undefined) throw removed(call.operand(0));
    if (isNow) {
      call.output.answer(sensor, () => `${readingText(sensor)}  (${oldText(sensor.age_ms)}, device ${sensor.reachability})`);
      return;
    }
    const points = objectsIn(answer, 'points').map((point) => [point.at, readingText({ ...sensor, value: point.value ?? null })]);
    call.output.answer(answer, () => textTable(['AT', 'VALUE'], points));
  },
};

/** Returns the error for a sensor whose device was removed. The hub may still have the sensor's old readings. */
function removed(sensor: string): AtmoError {
  const device = sensor.split('/')[0];
  return new AtmoError(
    'SENSOR_NOT_FOUND',
    `${sensor} tells nothing any more: the device ${device} was removed. What it told before is kept: atmo read ${sensor} --since 7d`,
    { sensor },
  );
}

/** Returns the reading of a sensor of this hub. Returns undefined if another hub has the sensor. */
async function readHere(call: Invocation, query: Query): Promise<JsonObject | undefined> {
  const sensor = call.operand(0);
  try {
    return await call.hub.get(`/api/v1/sensors/${encodeURIComponent(sensor)}/readings`, query);
  } catch (error) {
    const isElsewhere = error instanceof AtmoError && error.code === 'SENSOR_NOT_FOUND' && (await isOfAnotherHub(call, sensor));
    if (isElsewhere) return undefined;
    throw error;
  }
}

/** Returns whether another hub has the sensor. The sensor's id begins with its device's id, and the device's tools list the other hubs. */
async function isOfAnotherHub({ hub }: Invocation, sensor: string): Promise<boolean> {
  const [device] = sensor.split('/');
  try {
    const tools = objectsIn(await hub.get('/api/v1/tools', { device, limit: 1 }), 'tools');
    return tools.some(({ nodes }) => textsOf(nodes).length > 0);
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'DEVICE_NOT_FOUND') return false;
    throw error;
  }
}

/** Reads a sensor of another hub by a tool of that hub, because the HTTP API has no route for it. */
async function readElsewhere(call: Invocation): Promise<void> {
  if (call.integer('limit') !== undefined) throw usage('--limit does not go with a sensor of another hub; say --since and --every');
  const [start, end] = [timeOption(call, 'since'), timeOption(call, 'until')];
  const [every, agg] = [call.text('every'), call.text('agg')];
  const params = present({
    sensor_id: call.operand(0),
    time_range: start === undefined && end === undefined ? undefined : present({ start, end }),
    aggregation: agg,
    every_seconds: every === undefined ? undefined : durationSeconds(every, '--every'),
  });
  const reading = objectOf(await call.hub.call('core:query_sensor', params));
  const values = objectsIn(reading, 'values').map(({ timestamp, value }) => [timestamp, readingText({ ...reading, value: value ?? null })]);
  const isNow = [start, end, every, agg].every((value) => value === undefined);
  call.output.answer(reading, () => (isNow ? nowText(reading, values[0]?.[1]) : textTable(['AT', 'VALUE'], values)));
}

function nowText({ age_seconds: seconds, reachability }: JsonObject, value: unknown): string {
  const age = typeof seconds === 'number' ? seconds * 1000 : undefined;
  return `${value ?? '-'}  (${oldText(age)}, device ${reachability})\n`;
}

function oldText(ageMs: unknown): string {
  return typeof ageMs === 'number' ? `${ageText(ageMs)} old` : 'of unknown age';
}
