import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planHistory, type RetainedRanges, SLOT_MS } from '../../../src/storage/history/history-query.ts';

const HOUR = 3_600_000;
const ALL: RetainedRanges = { floorMs: { raw: 0, '5min': 0, '1h': 0 }, summedUntilMs: 100 * HOUR };
const range = (startMs: number, endMs: number) => ({ startMs, endMs });

describe('where history is read from', () => {
  test('whole hours come from hours, the rest of the range from finer rows', () => {
    expect(planHistory(range(HOUR - 1, 3 * HOUR + 300_001), undefined, ALL)).toEqual([
      { from: 'raw', startMs: HOUR - 1, endMs: HOUR },
      { from: '1h', startMs: HOUR, endMs: 3 * HOUR },
      { from: '5min', startMs: 3 * HOUR, endMs: 3 * HOUR + 300_000 },
      { from: 'raw', startMs: 3 * HOUR + 300_000, endMs: 3 * HOUR + 300_001 },
    ]);
  });

  test('buckets that cut through slots are read from the readings themselves', () => {
    expect(planHistory(range(0, HOUR), 120_000, ALL)).toEqual([{ from: 'raw', startMs: 0, endMs: HOUR }]);
    expect(planHistory(range(0, HOUR), 600_000, ALL)).toEqual([{ from: '5min', startMs: 0, endMs: HOUR }]);
    expect(planHistory(range(0, 2 * HOUR), 5_400_000, ALL)).toEqual([{ from: '5min', startMs: 0, endMs: 2 * HOUR }]);
  });

  test('slots that are not summed up yet are read from the readings', () => {
    expect(planHistory(range(0, 2 * HOUR), undefined, { ...ALL, summedUntilMs: HOUR + 300_000 })).toEqual([
      { from: '1h', startMs: 0, endMs: HOUR },
      { from: '5min', startMs: HOUR, endMs: HOUR + 300_000 },
      { from: 'raw', startMs: HOUR + 300_000, endMs: 2 * HOUR },
    ]);
  });

  test('where readings have been dropped, the next coarser rows that are left stand in', () => {
    const kept: RetainedRanges = { floorMs: { raw: 20 * HOUR, '5min': 10 * HOUR, '1h': 0 }, summedUntilMs: 50 * HOUR };
    expect(planHistory(range(0, 30 * HOUR), 1000, kept)).toEqual([
      { from: '1h', startMs: 0, endMs: 10 * HOUR },
      { from: '5min', startMs: 10 * HOUR, endMs: 20 * HOUR },
      { from: 'raw', startMs: 20 * HOUR, endMs: 30 * HOUR },
    ]);
  });

  test('the segments cover the range once, in order, and slots never cross a bucket', () => {
    const time = fc.integer({ min: 0, max: 60 * HOUR });
    const everyMs = fc.option(fc.constantFrom(1, 60_000, 300_000, 450_000, 900_000, HOUR, 5_400_000, 24 * HOUR), { nil: undefined });
    fc.assert(
      fc.property(time, time, everyMs, fc.integer({ min: 0, max: 700 }), (a, b, every, slots) => {
        const [startMs, endMs] = [Math.min(a, b), Math.max(a, b) + 1];
        const plan = planHistory({ startMs, endMs }, every, { ...ALL, summedUntilMs: slots * 300_000 });
        expect(plan[0]?.startMs).toBe(startMs);
        expect(plan.at(-1)?.endMs).toBe(endMs);
        expect(plan.slice(1).map((segment) => segment.startMs)).toEqual(plan.slice(0, -1).map((segment) => segment.endMs));
        for (const { from, startMs: first, endMs: last } of plan) {
          expect([first % SLOT_MS[from], last % SLOT_MS[from], (every ?? HOUR) % SLOT_MS[from] === 0 || from === 'raw']).toEqual([
            0,
            0,
            true,
          ]);
        }
      }),
    );
  });
});
