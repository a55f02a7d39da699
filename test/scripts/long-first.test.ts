import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import { LONG, LongFirst } from '../long-first.ts';

test('the files that run for long though they are small are there, and start before the others', async () => {
  const cache = { getTestSpecificationResult: () => ({ failed: false, duration: 1 }) };
  const config = { sequence: { groupOrder: 0 }, isolate: false };
  const file = (name: string) => ({ moduleId: `/home/${name}`, project: { name: 'unit', config } }) as unknown as TestSpecification;
  const names = ['test/one.test.ts', ...LONG, 'test/other.test.ts'];
  const sorted = await new LongFirst({ cache } as unknown as Vitest).sort(names.map(file));
  expect(sorted.map(({ moduleId }) => moduleId.slice('/home/'.length))).toEqual([...LONG, 'test/one.test.ts', 'test/other.test.ts']);
  expect(LONG.filter((name) => !existsSync(name))).toEqual([]);
});
