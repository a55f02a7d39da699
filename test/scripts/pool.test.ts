import { expect, test } from 'vitest';
import { inPool } from '../../scripts/check/pool.ts';

/** Jobs of so many places that end when they are told to. */
function jobs(places: readonly number[]) {
  const began: number[] = [];
  const ends = places.map(() => Promise.withResolvers<void>());
  const list = places.map((count, index) => ({
    places: count,
    run: async () => {
      began.push(index);
      await ends[index]?.promise;
      return index;
    },
  }));
  const end = async (index: number): Promise<void> => {
    ends[index]?.resolve();
    await new Promise(setImmediate);
  };
  return { list, began, end };
}

test('as many run as there are places for, in their order, and a small one passes by a large one', async () => {
  const { list, began, end } = jobs([2, 1, 2, 1, 1]);
  const all = inPool(4, list);
  expect(began).toEqual([0, 1, 3]);
  await end(1);
  expect(began).toEqual([0, 1, 3, 4]);
  await end(0);
  expect(began).toEqual([0, 1, 3, 4, 2]);
  for (const index of [2, 3, 4]) await end(index);
  expect([...(await all)].sort()).toEqual([0, 1, 2, 3, 4]);
});

test('what takes more places than there are runs alone', async () => {
  const { list, began, end } = jobs([1, 9, 1]);
  const all = inPool(2, list);
  expect(began).toEqual([0, 2]);
  await end(0);
  expect(began).toEqual([0, 2]);
  await end(2);
  expect(began).toEqual([0, 2, 1]);
  await end(1);
  await all;
});
