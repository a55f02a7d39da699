import { describe, expect, test } from 'vitest';
import { curveOf, curveWords, historyPath, RANGES } from '../../../../src/monitor/pages/device/history-range.ts';

const NOW = Date.parse('2026-05-03T12:00:00.000Z');
const [, day] = RANGES;

describe('the history of a reading', () => {
  test('is asked for in buckets where it has numbers, as it was where it has words', () => {
    expect(historyPath('hall/temperature', day, { isNumber: true, nowMs: NOW })).toBe(
      '/api/v1/sensors/hall%2Ftemperature/readings?since=2026-05-02T12%3A00%3A00.000Z&limit=2000&every=5m',
    );
    expect(historyPath('hall/is_on', day, { isNumber: false, nowMs: NOW })).not.toContain('every');
  });

  test('is a curve up to now, yes and no as 1 and 0, without what is no number', () => {
    const points = [
      { at: '2026-05-03T11:00:00.000Z', value: true },
      { at: '2026-05-03T11:30:00.000Z', value: null },
    ];
    expect(curveOf(points, { value: false, atMs: NOW })).toEqual([
      { atMs: NOW - 3_600_000, value: 1 },
      { atMs: NOW, value: 0 },
    ]);
  });

  test('is told in words as well', () => {
    expect(
      curveWords(
        [
          { atMs: 0, value: 18 },
          { atMs: 1, value: 21 },
        ],
        '°C',
      ),
    ).toBe('Lowest 18 °C, highest 21 °C, mean 19.5 °C.');
    expect(curveWords([], '°C')).toBe('No values in this time.');
  });
});
