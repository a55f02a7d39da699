import { describe, expect, test } from 'vitest';
import { KeyedRateLimit } from '../../src/mesh/rate-limit.ts';
import { ManualClock } from '../manual-clock.ts';

describe('RateGate', () => {
  test('lets each name have its burst and then its rate', () => {
    const clock = new ManualClock();
    const gate = new KeyedRateLimit(clock, { burst: 2, perSecond: 1 });
    expect([gate.tryTake('a'), gate.tryTake('a'), gate.tryTake('a'), gate.tryTake('b')]).toEqual([true, true, false, true]);
    clock.advance(1000);
    expect([gate.tryTake('a'), gate.tryTake('a')]).toEqual([true, false]);
  });

  test('keeps the bucket of a name in use however many other names are made up', () => {
    const gate = new KeyedRateLimit(new ManualClock(), { burst: 3000, perSecond: 0.001 });
    const used = Array.from({ length: 3000 }, (_, index) => {
      for (let made = 0; made < 3; made++) gate.tryTake(`made-up-${index}-${made}`);
      return gate.tryTake('busy');
    });
    expect(used.every(Boolean)).toBe(true);
    expect(gate.tryTake('busy')).toBe(false);
  });
});
