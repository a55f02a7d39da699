import { isJsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
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
  },
  async run(call) {
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
