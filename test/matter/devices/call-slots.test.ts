import { describe, expect, test } from 'vitest';
import { CallSlots } from '../../../src/matter/devices/call-slots.ts';

const never = new AbortController().signal;

describe('slots for calls to one node', () => {
  test('only so many are inside at once, and they enter in the order of asking', async () => {
    const slots = new CallSlots(2);
    const order: number[] = [];
    const entries = [0, 1, 2, 3].map((number) =>
      slots.enter(never).then((leave) => {
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
    const slots = new CallSlots(1);
    const leave = await slots.enter(never);
    const impatient = new AbortController();
    const second = slots.enter(impatient.signal);
    const third = slots.enter(never);
    impatient.abort();
    await expect(second).rejects.toBe(impatient.signal.reason);
    leave();
    (await third)();
    (await slots.enter(never))();
  });

  test('one who gave up before does not enter at all', async () => {
    await expect(new CallSlots(1).enter(AbortSignal.abort())).rejects.toBeDefined();
  });
});
