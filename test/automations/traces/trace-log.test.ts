import { describe, expect, test } from 'vitest';
import type { TraceCause } from '../../../src/automations/traces/trace.ts';
import { MOST_TRACES, TraceLog } from '../../../src/automations/traces/trace-log.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryTraceRows } from '../../memory-trace-rows.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const EVER = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 10_000 };

async function logged(rows = new MemoryTraceRows(), clock = new ManualClock()) {
  const log = new TraceLog({ rows, clock, logger: silentLogger, time: { isTrusted: () => true } });
  await log.start();
  const note = (cause: TraceCause, step?: string) => log.note('auto', { cause, facts: { ...(step !== undefined && { step }) } });
  return { log, rows, clock, note };
}

describe('traces', () => {
  test('of one cause that repeat within ten minutes are one with a count, an hour long at most', async () => {
    const { log, clock, note } = await logged();
    for (let minute = 0; minute < 90; minute++) {
      note('cooldown');
      clock.advance(MINUTE_MS);
    }
    expect(log.read('auto', EVER).map(({ count }) => count)).toEqual([29, 61]);
    clock.advance(11 * MINUTE_MS);
    note('cooldown');
    note('rate_limit');
    expect(log.read('auto', EVER).map(({ count }) => count)).toEqual([1, 1, 29, 61]);
  });

  test('are on the disk two seconds after they come, and survive that the hub is killed', async () => {
    const { clock, rows, note } = await logged();
    clock.advance(2 * MINUTE_MS);
    note('condition_false');
    clock.advance(2_000);
    clock.kill();
    const { log } = await logged(rows.copy(), clock);
    expect(log.read('auto', EVER)).toMatchObject([{ cause: 'condition_false', count: 1 }]);
  });

  test('are written at most once a minute, and repetitions alone once in five minutes', async () => {
    const { rows, clock, note } = await logged();
    const writesOf = (work: () => void) => {
      const before = rows.writes;
      work();
      return rows.writes - before;
    };
    const passing = (everyMs: number, act: (turn: number) => void) => () => {
      for (let turn = 0; turn < HOUR_MS / everyMs; turn++) {
        act(turn);
        clock.advance(everyMs);
      }
    };
    // One write an hour deletes what is too old.
    expect(writesOf(passing(1000, (turn) => note('step_failed', String(turn))))).toBeLessThanOrEqual(61);
    clock.advance(10 * MINUTE_MS);
    expect(writesOf(passing(1000, () => note('cooldown')))).toBeLessThanOrEqual(15);
    clock.advance(10 * MINUTE_MS);
    expect(writesOf(passing(MINUTE_MS, () => {}))).toBeLessThanOrEqual(13);
  });

  test('are kept for 30 days, within a bound for each automation', async () => {
    const { log, rows, clock, note } = await logged();
    note('condition_false');
    clock.advance(29 * DAY_MS);
    expect(log.read('auto', EVER)).toHaveLength(1);
    clock.advance(2 * DAY_MS);
    expect(log.read('auto', EVER)).toEqual([]);
    for (let turn = 0; turn < 1_000; turn++) {
      for (const cause of ['step_failed', 'other_event'] as const) note(cause, String(turn));
      if (turn % 10 === 0) clock.advance(MINUTE_MS);
    }
    log.note('other', { cause: 'done', facts: {} });
    clock.advance(2 * HOUR_MS);
    const kept = log.read('auto', EVER);
    expect(kept.filter(({ cause }) => cause === 'step_failed')).toHaveLength(MOST_TRACES.fired);
    expect(kept.filter(({ cause }) => cause === 'other_event')).toHaveLength(MOST_TRACES.near);
    expect(log.read('other', EVER)).toHaveLength(1);
    expect(rows.rows.size).toBeLessThan(MOST_TRACES.fired + MOST_TRACES.near + 10);
  });

  test('of an automation that leaves too many within a minute are told apart by their cause alone, and displace those of no other', async () => {
    const { log, rows, clock, note } = await logged();
    log.note('other', { cause: 'done', facts: {} });
    for (let turn = 0; turn < 60_000; turn++) {
      note(turn % 2 === 0 ? 'condition_false' : 'step_failed', String(turn));
      clock.advance(10);
    }
    clock.advance(5 * MINUTE_MS);
    const kept = log.read('auto', EVER);
    expect(kept.length).toBeLessThanOrEqual(10 * 21 + 2);
    expect(rows.rows.size).toBeLessThanOrEqual(10 * 21 + 3);
    expect(kept.reduce((sum, { count }) => sum + count, 0)).toBe(60_000);
    expect(log.read('other', EVER)).toMatchObject([{ cause: 'done', count: 1 }]);
  });

  test('of an automation that is disabled and enabled again and again are within the same bound', async () => {
    const { log, clock } = await logged();
    for (let turn = 0; turn < 5_000; turn++) log.note('auto', { cause: 'disabled', facts: {}, sinceMs: clock.now() });
    expect(log.read('auto', EVER)).toHaveLength(21);
  });

  test('stay in memory while the disk refuses them, and are written when it takes them', async () => {
    const { log, rows, clock, note } = await logged();
    rows.isFull = true;
    note('condition_false');
    clock.advance(10 * MINUTE_MS);
    expect(log.read('auto', EVER)).toHaveLength(1);
    rows.isFull = false;
    clock.advance(10 * MINUTE_MS);
    expect([...rows.rows.values()].filter(({ agent }) => agent === 'auto')).toHaveLength(1);
  });

  test('tell from when to when the hub was off', async () => {
    const before = await logged();
    before.clock.advance(HOUR_MS);
    await before.log[Symbol.asyncDispose]();
    const offMs = before.clock.now();
    before.clock.advance(2 * HOUR_MS);
    const { log, clock } = await logged(before.rows, before.clock);
    expect(log.read('', EVER)).toMatchObject([{ cause: 'hub_off', atMs: offMs, lastMs: clock.now() }]);
  });
});
