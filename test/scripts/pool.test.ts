import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { capacityOf, fixedCapacity, inPool } from '../../scripts/check/pool.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** So many jobs that end when they are told to. */
function jobs(count: number) {
  const began: number[] = [];
  const ends = Array.from({ length: count }, () => Promise.withResolvers<void>());
  const list = ends.map(({ promise }, index) => async () => {
    began.push(index);
    await promise;
    return index;
  });
  const end = async (index: number): Promise<void> => {
    ends[index]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { list, began, end };
}

test('as many run as may, in their order', async () => {
  const { list, began, end } = jobs(4);
  const all = inPool(fixedCapacity(2), list);
  await vi.advanceTimersByTimeAsync(0);
  expect(began).toEqual([0, 1]);
  await end(1);
  expect(began).toEqual([0, 1, 2]);
  for (const index of [0, 2, 3]) await end(index);
  expect([...(await all)].sort()).toEqual([0, 1, 2, 3]);
});

test('on a busy machine, one runs at a time', async () => {
  const { list, began, end } = jobs(3);
  const all = inPool({ maxRunning: 9, canStart: () => false }, list);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(began).toEqual([0]);
  for (const index of [0, 1, 2]) await end(index);
  await all;
  expect(began).toEqual([0, 1, 2]);
});

test('two run on a core, and one more begins while a quarter of it is idle and there is memory', async () => {
  let [busy, idle] = [0, 0];
  const passSeconds = async (seconds: number, idleShare: number): Promise<void> => {
    idle += seconds * idleShare;
    busy += seconds * (1 - idleShare);
    await vi.advanceTimersByTimeAsync(seconds * 1000);
  };
  let freeBytes = 8 * 1024 ** 3;
  const { list, began, end } = jobs(6);
  const all = inPool(capacityOf({ cores: 1, times: () => ({ idle, all: busy + idle }), freeBytes: () => freeBytes }), list);
  await passSeconds(1, 0.9);
  expect(began).toEqual([0, 1]);
  await passSeconds(1, 0.9);
  expect(began).toEqual([0, 1, 2]);
  await passSeconds(2, 0.2);
  expect(began).toEqual([0, 1, 2]);
  await passSeconds(2, 0.3);
  expect(began).toEqual([0, 1, 2, 3]);
  freeBytes = 1024 ** 3;
  await passSeconds(2, 0.9);
  expect(began).toEqual([0, 1, 2, 3]);
  for (const index of [0, 1, 2, 3, 4, 5]) await end(index);
  await all;
});
