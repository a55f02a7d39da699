import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHART_MARGIN, type ChartFrame, chartOf, niceTicks } from '../../../src/web/components/chart-geometry.ts';

const HOUR_MS = 3_600_000;
const frame: ChartFrame = { width: 572, height: 238, startMs: 0, endMs: 5 * HOUR_MS, isStepped: false, zoneOffsetMs: 0 };

describe('a curve', () => {
  test('runs from edge to edge, low below high', () => {
    const { line, spots } = chartOf(
      [
        { atMs: 0, value: 0 },
        { atMs: 5 * HOUR_MS, value: 10 },
      ],
      frame,
    );
    expect(line).toBe(`M${CHART_MARGIN.left} 212L558 12`);
    expect(spots).toHaveLength(2);
  });

  test('of means lies within the band between lows and highs', () => {
    const points = [
      { atMs: 0, value: 10, low: 0, high: 20 },
      { atMs: 5 * HOUR_MS, value: 10 },
    ];
    const { band, valueTicks } = chartOf(points, frame);
    expect(band).toBe('M58 12L558 112L558 112L58 212Z');
    expect(valueTicks.at(-1)?.value).toBe(20);
    expect(chartOf([{ atMs: 0, value: 1 }], frame).band).toBe('');
  });

  test('of a switch holds each value until the next', () => {
    const points = [
      { atMs: 0, value: 0 },
      { atMs: HOUR_MS, value: 1 },
      { atMs: 5 * HOUR_MS, value: 1 },
    ];
    expect(chartOf(points, { ...frame, isStepped: true })).toMatchObject({
      line: 'M58 212H158V12H558V12',
      valueTicks: [{ value: 0 }, { value: 1 }],
    });
  });

  test('begins with the last value before the range, and leaves out all others outside', () => {
    const points = [-2, -1, 1, 9].map((hour) => ({ atMs: hour * HOUR_MS, value: hour }));
    expect(chartOf(points, frame).spots.map(({ point }) => point)).toEqual([
      { atMs: 0, value: -1 },
      { atMs: HOUR_MS, value: 1 },
    ]);
  });

  test('that never changes lies between its ticks', () => {
    const { spots, valueTicks } = chartOf([{ atMs: HOUR_MS, value: 100 }], frame);
    const [spot] = spots;
    const heights = valueTicks.map(({ y }) => y);
    expect(Math.min(...heights)).toBeLessThan(spot?.y ?? 0);
    expect(Math.max(...heights)).toBeGreaterThan(spot?.y ?? Number.POSITIVE_INFINITY);
  });

  test('without points is empty', () => {
    expect(chartOf([], frame)).toMatchObject({ line: '', area: '', spots: [] });
  });

  test('has ticks at hours of the local clock, and marks the beginning of a day', () => {
    const day = { ...frame, endMs: 24 * HOUR_MS, zoneOffsetMs: 2 * HOUR_MS };
    const { timeTicks } = chartOf([], day);
    expect(timeTicks.map(({ atMs }) => atMs / HOUR_MS)).toEqual([4, 10, 16, 22]);
    expect(timeTicks.map(({ isDay }) => isDay)).toEqual([false, false, false, true]);
  });

  test('has a few round value ticks around all its values', () => {
    expect(niceTicks(18.3, 21.9)).toEqual([18, 19, 20, 21, 22]);
    const value = fc.double({ min: -1e6, max: 1e6, noNaN: true }).filter((one) => one === 0 || Math.abs(one) > 1e-6);
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const ticks = niceTicks(low, high);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
        expect(ticks.length).toBeLessThanOrEqual(7);
        expect(ticks[0]).toBeLessThanOrEqual(low + Math.abs(low) * 1e-9);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(high - Math.abs(high) * 1e-9);
      }),
    );
  });
});
