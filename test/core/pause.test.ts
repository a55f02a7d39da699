import { describe, expect, test } from 'vitest';
import { pause } from '../../src/core/clock.ts';
import { ManualClock } from '../manual-clock.ts';

function begin() {
  const [clock, caller, over] = [new ManualClock(), new AbortController(), { yet: false }];
  const waiting = pause(clock, 100, caller.signal).then(() => {
    over.yet = true;
  });
  return { clock, caller, over, waiting };
}

describe('a pause', () => {
  test('is over when its time is, and not before', async () => {
    const { clock, over, waiting } = begin();
    clock.advance(99);
    await Promise.resolve();
    expect(over.yet).toBe(false);
    clock.advance(1);
    await waiting;
    expect(over.yet).toBe(true);
  });

  test('is over when its signal aborts, and has no length where that has happened already', async () => {
    const { clock, caller, waiting } = begin();
    caller.abort();
    await waiting;
    await pause(clock, 100, caller.signal);
  });
});
