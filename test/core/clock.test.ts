import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';

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
