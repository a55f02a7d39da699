import { expect, test } from 'vitest';
import { engineHeapProblem } from '../../../src/tools/programs/wasm-limits.ts';
import { webAssembly } from './web-assembly.ts';

const HEAD = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const TEN_MILLION = [0x80, 0xad, 0xe2, 4];
const section = (id: number, ...content: number[]) => [id, content.length, ...content];

test.each<[string, number[], RegExp | undefined]>([
  ['a small table with a maximum', section(4, 1, 0x70, 1, 1, 1), undefined],
  ['plain functions', section(1, 2, 0x60, 1, 0x7f, 1, 0x7e, 0x60, 2, 0x7b, 0x6f, 0), undefined],
  ['no table', [], undefined],
  ['a table of ten million entries', section(4, 1, 0x70, 0, ...TEN_MILLION), /tables can grow/],
  ['a table that may grow to them', section(4, 1, 0x6f, 1, 0, ...TEN_MILLION), /tables can grow/],
  ['a table without a maximum', section(4, 1, 0x70, 0, 1), /tables can grow/],
  ['two tables that are too much together', section(4, 2, 0x70, 1, 0, 0xe0, 0xd4, 3, 0x70, 1, 0, 0xe0, 0xd4, 3), /tables can grow/],
  ['a table of another form', section(4, 1, 0x40, 0, 0x70, 1, 1, 1, 0xd0, 0x70, 0x0b), /tables can grow/],
  ['an array', section(1, 1, 0x5e, 0x7f, 1), /managed memory/],
  ['a structure in a group', section(1, 1, 0x4e, 1, 0x5f, 0), /managed memory/],
  ['a function that takes a reference', section(1, 1, 0x60, 1, 0x63, 0x70, 0), /managed memory/],
])('%s is told from what the engine could not hold', (_, content, problem) => {
  const code = Uint8Array.from([...HEAD, ...content]);
  expect(webAssembly.validate(code)).toBe(true);
  if (problem) expect(engineHeapProblem(code)).toMatch(problem);
  else expect(engineHeapProblem(code)).toBeUndefined();
});
