import { isoTime } from '../../core/iso-time.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { durationSeconds } from '../duration.ts';
import { HUB_OPTION } from '../hub-option.ts';
import { objectsIn } from '../json-list.ts';
import { ageText, textTable } from '../text-table.ts';
import { readingText } from './devices.ts';

export const read: Command = {
  name: 'read',
  summary: "a sensor's value now, or its history",
  operands: [{ name: 'SENSOR', help: 'sensor id such as hall-sensor/temperature (atmo sensors lists them)' }],
  options: {
    since: { value: 'TIME', help: 'history from here: 24h, 7d, or ISO 8601' },
    until: { value: 'TIME', help: 'history up to here' },
    every: { value: 'WIDTH', help: 'one value for each 5m, 1h, 1d …' },
    agg: { value: 'HOW', help: 'avg, min, max, sum or none' },
    limit: { value: 'N', help: 'at most the newest N points' },
    ...HUB_OPTION,
  },
  async run(call) {
    if (call.text('hub') !== undefined) return readElsewhere(call);
    const range = { since: call.text('since'), until: call.text('until'), every: call.text('every'), agg: call.text('agg') };
    const limit = call.integer('limit');
    const isNow = limit === undefined && Object.values(range).every((value) => value === undefined);
    const path = `/api/v1/sensors/${encodeURIComponent(call.operand(0))}/readings`;
    const answer = await call.hub.get(path, isNow ? { limit: 1 } : { ...range, limit });
    const sensor = isJsonObject(answer.sensor) ? answer.sensor : {};
    if (isNow) {
      call.output.answer(sensor, () => `${readingText(sensor)}  (${ageText(sensor.age_ms)} old, device ${sensor.reachability})`);
      return undefined;
    }
    const points = objectsIn(answer, 'points').map((point) => [point.at, readingText({ ...sensor, value: point.value ?? null })]);
    call.output.answer(answer, () => textTable(['AT', 'VALUE'], points));
    return undefined;
  },
};

/** Readings of another hub come from its tool: there is no route to its sensors. */
async function readElsewhere(call: Invocation): Promise<undefined> {
  if (call.integer('limit') !== undefined) throw usage('--limit does not go with --hub; say --since and --every');
  const [start, end] = [instantOf(call, 'since'), instantOf(call, 'until')];
  const [every, agg] = [call.text('every'), call.text('agg')];
  const range = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
  const answer = await call.hub.call('core:query_sensor', {
    sensor_id: call.operand(0),
    ...(Object.keys(range).length > 0 && { time_range: range }),
    ...(agg !== undefined && { aggregation: agg }),
    ...(every !== undefined && { every_seconds: durationSeconds(every, '--every') }),
  });
  const reading: JsonObject = isJsonObject(answer) ? answer : {};
  const rows = objectsIn(reading, 'values').map(({ timestamp, value }) => [timestamp, readingText({ ...reading, value: value ?? null })]);
  call.output.answer(reading, () => textTable(['AT', 'VALUE'], rows));
  return undefined;
}

/** ISO 8601, or so long ago. */
function instantOf(call: Invocation, option: string): string | undefined {
  const text = call.text(option);
  if (text === undefined || /^\d{4}-\d\d/.test(text)) return text;
  return isoTime(Date.now() - durationSeconds(text, `--${option}`) * 1000);
}
