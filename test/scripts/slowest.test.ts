import { expect, test } from 'vitest';
import { slowest } from '../../scripts/check/slowest.ts';

test('the ten slowest files are told, a line each, the slowest first', () => {
  const times = Array.from({ length: 12 }, (_, index) => ({ file: `test/${index}.test.ts`, seconds: index * 9.5 }));
  const lines = slowest(times);
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe('slow:  104.5 s test/11.test.ts');
  expect(lines[9]).toBe('slow:   19.0 s test/2.test.ts');
});
