import { describe, expect, test } from 'vitest';
import { ConcurrencyLimiter } from '../../src/core/concurrency-limiter.ts';

const never = new AbortController().signal;

describe('a limiter of concurrent work', () => {
  test('only so many are inside at once, and they enter in the order of asking', async () => {
    const limiter = new ConcurrencyLimiter({ maxRunning: 2 });
    const order: number[] = [];
    const entries = [0, 1, 2, 3].map((number) =>
      Promise.resolve(limiter.enter(never)).then((leave) => {
        order.push(number);
        return leave;
      }),
    );
    const first = await entries[0];
    await entries[1];
    expect(order).toEqual([0, 1]);
    first?.();
    first?.();
    await entries[2];
    expect(order).toEqual([0, 1, 2]);
  });

  test('one who gives up leaves the line, and the next moves up', async () => {
    const limiter = new ConcurrencyLimiter({ maxRunning: 1 });
    const leave = await limiter.enter(never);
    const impatient = new AbortController();
    const second = limiter.enter(impatient.signal);
    const third = limiter.enter(never);
    impatient.abort();
    await expect(second).rejects.toBe(impatient.signal.reason);
    leave();
    (await third)();
    (await limiter.enter(never))();
  });

  test('one who gave up before does not enter at all', () => {
    const limiter = new ConcurrencyLimiter({ maxRunning: 1 });
    expect(() => limiter.enter(AbortSignal.abort())).toThrow('aborted');
    expect([limiter.running, limiter.waiting]).toEqual([0, 0]);
  });

  test('a full line refuses the next one, who is told whose it is', async () => {
    const limiter = new ConcurrencyLimiter({ holder: 'This caller', maxRunning: 1, maxWaiting: 1 });
    await limiter.enter(never);
    const second = limiter.enter(never);
    expect(() => limiter.enter(never)).toThrow('This caller already has 1 calls running and 1 waiting');
    expect(second).toBeInstanceOf(Promise);
  });

  test('work that fails gives its slot back', async () => {
    const limiter = new ConcurrencyLimiter({ maxRunning: 1 });
    await expect(limiter.run(() => Promise.reject(new Error('broken')), never)).rejects.toThrow('broken');
    expect(limiter.running).toBe(0);
  });
});
