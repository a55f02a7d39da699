import { describe, expect, test } from 'vitest';
import {
  curveOf,
  curveWords,
  fetchHistory,
  type HistoryPoint,
  historyPath,
  RANGES,
  startOf,
} from '../../../src/web/pages/reading-history.ts';

const NOW = Date.parse('2026-05-03T12:00:00.000Z');
const MINUTE_MS = 60_000;
const [hour, day] = RANGES;
const only = (points: readonly HistoryPoint[]) => ({ points, lows: [], highs: [] });

describe('the history of a reading', () => {
  test('is loaded in buckets for numbers, and unchanged for texts', async () => {
    expect(historyPath('hall/temperature', day, { agg: 'min', nowMs: NOW })).toBe(
      '/api/v1/sensors/hall%2Ftemperature/readings?since=2026-05-02T12%3A00%3A00.000Z&limit=2000&every=5m&agg=min',
    );
    const asked: string[] = [];
    const get = async (path: string) => {
      asked.push(path);
      return { points: [] };
    };
    await fetchHistory(get, { sensor: 'hall/is_on', range: day, isNumber: false, nowMs: NOW });
    await fetchHistory(get, { sensor: 'hall/temperature', range: hour, isNumber: true, nowMs: NOW });
    expect(asked.join()).not.toContain('every');
  });

  test('has the mean, the lowest and the highest of each bucket', async () => {
    const at = '2026-05-03T11:00:00.000Z';
    const values = { avg: 12.2, min: -3.5, max: 21 };
    const get = async (path: string) => ({ points: [{ at, value: values[new URLSearchParams(path.split('?')[1]).get('agg') as 'avg'] }] });
    const history = await fetchHistory(get, { sensor: 'garden/temperature', range: day, isNumber: true, nowMs: NOW });
    const curve = curveOf(history, { value: 15, atMs: NOW });
    expect(curve).toEqual([
      { atMs: Date.parse(at), value: 12.2, low: -3.5, high: 21 },
      { atMs: NOW, value: 15 },
    ]);
    expect(curveWords(curve, '°C')).toBe('Lowest -3.5 °C, highest 21 °C, mean 12.2 °C.');
  });

  test('is a curve up to now, with 1 and 0 for yes and no, without texts', () => {
    const points = [
      { at: '2026-05-03T11:00:00.000Z', value: true },
      { at: '2026-05-03T11:30:00.000Z', value: null },
    ];
    expect(curveOf(only(points), { value: false, atMs: NOW })).toEqual([
      { atMs: NOW - 3_600_000, value: 1 },
      { atMs: NOW, value: 0 },
    ]);
  });

  test('begins with the first value where it covers little of the range, else with the range', () => {
    const since = (minutes: number) => startOf([{ atMs: NOW - minutes * MINUTE_MS, value: 1 }], day, NOW);
    expect(since(10)).toBe(NOW - 10 * MINUTE_MS);
    expect(since(23 * 60)).toBe(NOW - day.lengthMs);
    expect(since(0)).toBe(NOW - MINUTE_MS);
    expect(startOf([], day, NOW)).toBe(NOW - day.lengthMs);
  });

  test('has a mean in words that weighs each value by its time', () => {
    expect(
      curveWords(
        [
          { atMs: 0, value: 18 },
          { atMs: 3, value: 22 },
          { atMs: 4, value: 30 },
        ],
        '°C',
      ),
    ).toBe('Lowest 18 °C, highest 30 °C, mean 19 °C.');
    expect(curveWords([{ atMs: 0, value: 18 }], '°C')).toContain('mean 18 °C');
    expect(curveWords([], '°C')).toBe('No values in this time.');
  });
});
