import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManualClock } from '../../manual-clock.ts';
import { DeliveryQueue } from '../memory-network.ts';

test('what falls due runs in order of its time, and what falls due together in the order in which it came', () => {
  const inOrder = fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 60 }), (delaysMs) => {
    const clock = new ManualClock();
    const queue = new DeliveryQueue(clock);
    const ran: number[] = [];
    delaysMs.forEach((delayMs, index) => {
      queue.schedule(clock.monotonic() + delayMs, () => ran.push(index));
    });
    clock.advance(50);
    const expected = delaysMs.map((delayMs, index) => ({ delayMs, index })).sort((a, b) => a.delayMs - b.delayMs || a.index - b.index);
    expect(ran).toEqual(expected.map(({ index }) => index));
  });
  fc.assert(inOrder, { numRuns: 200 });
});

test('one timer serves any number of deliveries', () => {
  let timers = 0;
  const clock = new ManualClock();
  const counting = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (delayMs: number, callback: () => void) => {
      timers += 1;
      return clock.after(delayMs, callback);
    },
  };
  const queue = new DeliveryQueue(counting);
  for (let index = 0; index < 1_000; index += 1) queue.schedule(clock.monotonic() + 10 + index, () => undefined);
  expect(timers).toBe(1);
});
