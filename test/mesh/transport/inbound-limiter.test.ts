import { expect, test } from 'vitest';
import { InboundLimiter } from '../../../src/mesh/transport/tcp-connection.ts';
import { ManualClock } from '../../manual-clock.ts';

test('an address that knocks too often waits for the next second, others do not', () => {
  const clock = new ManualClock();
  const limiter = new InboundLimiter(clock, { perSourcePerSecond: 2, pending: 9 });
  const knocks = ['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2'].map((host) => limiter.enter(host));
  expect(knocks).toEqual(['entered', 'entered', 'inbound_rate', 'entered']);
  clock.advance(1_000);
  expect(limiter.enter('10.0.0.1')).toBe('entered');
});

test('only so many may be at the gate at a time, from anywhere', () => {
  const limiter = new InboundLimiter(new ManualClock(), { perSourcePerSecond: 9, pending: 2 });
  expect(['a', 'b', 'c'].map((host) => limiter.enter(host))).toEqual(['entered', 'entered', 'too_many_pending']);
  limiter.done();
  expect(limiter.enter('c')).toBe('entered');
});

test('an address of which five connections failed is let in four times a second for a while, others are not held back', () => {
  const clock = new ManualClock();
  const limiter = new InboundLimiter(clock, { perSourcePerSecond: 20, pending: 100 });
  const entered = (host: string) => Array.from({ length: 20 }, () => limiter.enter(host)).filter((entry) => entry === 'entered').length;
  for (let count = 0; count < 5; count++) limiter.failed('10.0.0.9');
  expect([entered('10.0.0.9'), entered('10.0.0.1')]).toEqual([4, 20]);
  clock.advance(10_000);
  expect(entered('10.0.0.9')).toBe(20);
});
