import { describe, expect, test } from 'vitest';
import { ConcurrencyLimiter } from '../../src/core/concurrency-limiter.ts';

const never = new AbortController().signal;

describe('a gate that lets a few in at once', () => {
  test('only so many are inside at once, and they enter in the order of asking', async () => {
    const gate = new ConcurrencyLimiter({ maxRunning: 2 });
    const order: number[] = [];
    const entries = [0, 1, 2, 3].map((number) =>
      Promise.resolve(gate.enter(never)).then((leave) => {
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
    const gate = new ConcurrencyLimiter({ maxRunning: 1 });
    const leave = await gate.enter(never);
    const impatient = new AbortController();
    const second = gate.enter(impatient.signal);
    const third = gate.enter(never);
    impatient.abort();
    await expect(second).rejects.toBe(impatient.signal.reason);
    leave();
    (await third)();
    (await gate.enter(never))();
  });

  test('one who gave up before does not enter at all', () => {
    const gate = new ConcurrencyLimiter({ maxRunning: 1 });
    expect(() => gate.enter(AbortSignal.abort())).toThrow('aborted');
    expect([gate.running, gate.waiting]).toEqual([0, 0]);
  });

  test('a full line refuses the next one, who is told whose it is', async () => {
    const gate = new ConcurrencyLimiter({ holder: 'This caller', maxRunning: 1, maxWaiting: 1 });
    await gate.enter(never);
    const second = gate.enter(never);
    expect(() => gate.enter(never)).toThrow('This caller already has 1 calls running and 1 waiting');
    expect(second).toBeInstanceOf(Promise);
  });

  test('work that fails gives its slot back', async () => {
    const gate = new ConcurrencyLimiter({ maxRunning: 1 });
    await expect(gate.run(() => Promise.reject(new Error('broken')), never)).rejects.toThrow('broken');
    expect(gate.running).toBe(0);
  });
});
