import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { repeat, sharedDelayMs, sleeplessMs, systemClock } from '../../src/core/clock.ts';
import { ManualClock } from '../manual-clock.ts';

const DAY_MS = 86_400_000;

describe('the clock of the machine', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('waits longer than the 25 days that a timer of Node can wait', () => {
    const callback = vi.fn();
    systemClock.after(60 * DAY_MS, callback);
    vi.advanceTimersByTime(60 * DAY_MS - 1);
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(callback).toHaveBeenCalledOnce();
  });

  test('ends a long wait at any time', () => {
    const callback = vi.fn();
    const cancel = systemClock.after(60 * DAY_MS, callback);
    vi.advanceTimersByTime(30 * DAY_MS);
    cancel();
    vi.advanceTimersByTime(60 * DAY_MS);
    expect(callback).not.toHaveBeenCalled();
  });
});

describe('the time that passes on a machine', () => {
  /** A machine with the clocks of Linux: awake, it runs all; asleep, the uptime goes on, and the wall clock is put right after it. */
  function machine() {
    const at = { wallMs: Date.UTC(2026, 0, 1), awakeMs: 500, uptimeMs: 70_000, reads: 0 };
    const uptimeMs = () => {
      at.reads += 1;
      return Math.floor(at.uptimeMs / 10) * 10;
    };
    const passedMs = sleeplessMs({ wallMs: () => at.wallMs, awakeMs: () => at.awakeMs, uptimeMs });
    const sleep = (ms: number) => Object.assign(at, { wallMs: at.wallMs + ms, uptimeMs: at.uptimeMs + ms });
    const wake = (ms: number) => Object.assign(at, { awakeMs: at.awakeMs + ms }, sleep(ms));
    return { at, passedMs, sleep, wake };
  }

  test('goes on while the machine sleeps, and is never behind', () => {
    const { passedMs, sleep, wake } = machine();
    const startMs = passedMs();
    let trueMs = 0;
    for (const ms of [7, 90_003, 65, 3_600_000]) {
      wake(1_234);
      sleep(ms);
      trueMs += 1_234 + ms;
      expect(passedMs() - startMs).toBeGreaterThanOrEqual(ms < 20 ? trueMs - ms : trueMs);
      expect(passedMs() - startMs).toBeLessThan(trueMs + 100);
    }
  });

  test('does not jump when somebody sets the wall clock, and asks for the uptime only then', () => {
    const { at, passedMs, wake } = machine();
    const startMs = passedMs();
    const { reads } = at;
    for (let minute = 1; minute <= 60; minute++) {
      wake(60_000);
      expect(passedMs() - startMs).toBe(60_000 * minute);
    }
    expect(at.reads).toBe(reads);
    for (const ms of [3_600_000, -7_200_000, 25]) {
      at.wallMs += ms;
      expect(passedMs() - startMs).toBe(3_600_000);
    }
    expect(at.reads).toBe(reads + 3);
  });
});

test('repeated work that stops itself does not run again', () => {
  const clock = new ManualClock();
  let runs = 0;
  const stop = repeat(clock, 1_000, () => {
    runs += 1;
    if (runs === 3) stop();
  });
  clock.advance(10_000);
  expect(runs).toBe(3);
});

describe('the delay of a timer with slack', () => {
  const endMs = (nowMs: number, delayMs: number, slackMs: number) => nowMs + sharedDelayMs(nowMs, delayMs, slackMs);

  test('ends with those of others, early by less than the slack, and never late', () => {
    for (const nowMs of [0, 123, 4_567.8, 59_999]) {
      expect(endMs(nowMs, 60_000, 6_000) % 4_000).toBeCloseTo(0);
      expect(endMs(nowMs, 10_000, 1_000) % 1_000).toBeCloseTo(0);
      const earlyMs = 60_000 - sharedDelayMs(nowMs, 60_000, 6_000);
      expect(earlyMs).toBeGreaterThanOrEqual(0);
      expect(earlyMs).toBeLessThan(6_000);
    }
  });

  test('repeats without drift, although each timer of Node comes a little late', () => {
    let nowMs = 60_000;
    for (let round = 0; round < 100; round++) nowMs = endMs(nowMs, 60_000, 6_000) + 3;
    expect(nowMs).toBe(101 * 60_000 + 3);
  });

  test('is exact with less slack than a second', () => {
    expect(sharedDelayMs(123.4, 4_500, 0)).toBe(4_500);
    expect(sharedDelayMs(123.4, 5_000, 500)).toBe(5_000);
  });
});
