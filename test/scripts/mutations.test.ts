import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTATIONS, mutated } from '../../scripts/mutation-table.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

test.each(MUTATIONS)('the source has exactly one place where $name', (mutation) => {
  const source = read(mutation.file);
  expect(mutated(mutation, source)).not.toBe(source);
});

test('a mutation whose text is not in the source is an error', () => {
  const lost = { name: 'nothing', file: 'src/main.ts', text: 'no such text', instead: '' };
  expect(() => mutated(lost, read(lost.file))).toThrow('0 times in src/main.ts');
});
