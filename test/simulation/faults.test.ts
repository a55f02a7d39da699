import { expect, test } from 'vitest';
import { kindsOf } from './faults.ts';

const KINDS = kindsOf(0, 99).length;

test.each([4, 5, 6])('worlds of successive seeds have all kinds of faults together, %i in each', (count) => {
  const worlds = Math.ceil(KINDS / count);
  const first = 34 * worlds;
  const own = Array.from({ length: worlds }, (_, index) => kindsOf(first + index, count));
  expect(own.map((kinds) => new Set(kinds).size)).toEqual(own.map(() => count));
  expect(new Set(own.flat()).size).toBe(KINDS);
  expect(kindsOf(first, count)).toEqual(own[0]);
  expect(kindsOf(first + worlds, count)).not.toEqual(own[0]);
});
