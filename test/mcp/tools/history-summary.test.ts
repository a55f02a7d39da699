import { describe, expect, it } from 'vitest';
import { historySummary } from '../../../src/mcp/tools/measurement-tools.ts';

const startMs = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const range = { startMs, endMs: startMs + 4 * HOUR_MS };
const at = (hours: number) => startMs + hours * HOUR_MS;

describe('the summary of a history', () => {
  it('lets each value hold until the next one came', () => {
    const points = [
      { atMs: at(0), value: 10 },
      { atMs: at(3), value: 30 },
    ];
    expect(historySummary({ ...range, points })).toMatchObject({ readings: 2, mean: 15 });
  });

  it('takes lowest and highest from what they were, not from the means of hours', () => {
    const hourly = (value: number) => [{ atMs: at(1), value }];
    const summary = historySummary({ ...range, points: hourly(20), lows: hourly(15), highs: hourly(29) });
    expect(summary).toMatchObject({ hours: 1, min: { value: 15 }, max: { value: 29, at: '2026-01-01T01:00:00.000Z' }, mean: 20 });
  });

  it('begins the course with the first reading, however long the time before it that was asked for', () => {
    const points = Array.from({ length: 60 }, (_, minute) => ({ atMs: at(3) + minute * 60_000, value: minute }));
    const { points: course } = historySummary({ startMs: at(-300), endMs: at(4), points }) as { points: { at: string }[] };
    expect(course.length).toBeGreaterThan(40);
    expect(course[0]?.at).toBe('2026-01-01T03:00:00.000Z');
  });

  it('tells when a text changed, for it has no mean', () => {
    const points = ['idle', 'idle', 'running'].map((value, hours) => ({ atMs: at(hours), value }));
    expect(historySummary({ ...range, points })).toEqual({
      readings: 3,
      changes: [
        { at: '2026-01-01T00:00:00.000Z', value: 'idle' },
        { at: '2026-01-01T02:00:00.000Z', value: 'running' },
      ],
    });
  });

  it('says that there was nothing', () => {
    expect(historySummary({ ...range, points: [] })).toEqual({ readings: 0, changes: [] });
  });
});
