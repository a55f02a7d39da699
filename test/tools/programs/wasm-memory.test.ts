import { expect, test } from 'vitest';
import { moduleMemoryLimit } from '../../../src/tools/programs/wasm-limits.ts';
import { processorMs } from '../../processor-time.ts';

const HEAD = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

test.each([
  ['a memory with a maximum', [...HEAD, 5, 4, 1, 1, 1, 2], 131_072],
  ['a memory without one', [...HEAD, 5, 3, 1, 0, 1], Number.POSITIVE_INFINITY],
  ['no memory', [...HEAD, 1, 1, 0], 0],
  ['no module', [1, 2, 3], undefined],
])('%s is told', (_, bytes, most) => {
  expect(moduleMemoryLimit(Uint8Array.from(bytes))).toBe(most);
});

test('a section that says it has more memories than bytes is not counted to its end', async () => {
  const bytes = Uint8Array.from([...HEAD, 5, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
  expect(await processorMs(() => expect(moduleMemoryLimit(bytes)).toBeDefined())).toBeLessThan(1_000);
});
