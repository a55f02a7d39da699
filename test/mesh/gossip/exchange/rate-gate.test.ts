import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../../src/core/time/clock.ts';
import { RateGate } from '../../../../src/mesh/gossip/exchange/rate-gate.ts';

describe('RateGate', () => {
  test('lets each name have its burst and then its rate', () => {
    const clock = new ManualClock();
    const gate = new RateGate(clock, { burst: 2, perSecond: 1 });
    expect([gate.passes('a'), gate.passes('a'), gate.passes('a'), gate.passes('b')]).toEqual([true, true, false, true]);
    clock.advance(1000);
    expect([gate.passes('a'), gate.passes('a')]).toEqual([true, false]);
  });

  test('keeps the bucket of a name in use however many other names are made up', () => {
    const gate = new RateGate(new ManualClock(), { burst: 3000, perSecond: 0.001 });
    const used = Array.from({ length: 3000 }, (_, index) => {
      for (let made = 0; made < 3; made++) gate.passes(`made-up-${index}-${made}`);
      return gate.passes('busy');
    });
    expect(used.every(Boolean)).toBe(true);
    expect(gate.passes('busy')).toBe(false);
  });
});
