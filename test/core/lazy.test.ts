import { expect, test } from 'vitest';
import { lazy } from '../../src/core/lifecycle.ts';

test('a lazy value is made when it is first asked for, and once, whatever it is', () => {
  const made: string[] = [];
  const value = lazy(() => {
    made.push('made');
    return undefined;
  });
  expect(made).toEqual([]);
  expect([value(), value()]).toEqual([undefined, undefined]);
  expect(made).toEqual(['made']);
});
