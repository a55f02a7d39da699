import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type Mutant, mutantsOf } from '../../scripts/mutation-score/mutants.ts';
import { batchesOf, refusedByTypes } from '../../scripts/mutation-score/type-check.ts';
import { mutantWith } from './mutation-fixture.ts';

const PROJECT = new URL('../..', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'atmo-type-check-'));
afterAll(() => rmSync(root, { recursive: true }));

test('no two mutants of a batch share a line, and those of other files do not matter', () => {
  const at = (id: string, line: number, text = id, file = 'src/a.ts') => mutantWith({ id, line, text, file });
  const mutants = [
    at('a', 1),
    at('b', 1),
    at('c', 2),
    at('d', 3, 'three\nfour\nfive'),
    at('e', 5),
    at('f', 6),
    at('g', 1, 'g', 'src/b.ts'),
  ];
  const batches = batchesOf(mutants).map((batch) => batch.map(({ id }) => id).join(''));
  expect(batches).toEqual(['acdfg', 'be']);
});

const SOURCE = `export function levelOf(text: string | undefined): number {
  if (text === undefined) throw new RangeError('none');
  const level = [
    text.length,
  ].length;
  return level > 3 ? level : 3;
}
`;
const REFUSED = ["throw new RangeError('none'); → ;", 'level > 3 ? level : 3 → undefined'];
const ACCEPTED = ['level > 3 → level >= 3', "'none' → ''"];

function makeProject(): void {
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'src/wrong.ts'), "export const wrong: number = 'what the compiler refuses without any mutant too';");
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  const compilerOptions = { strict: true, target: 'esnext', module: 'nodenext', noEmit: true, types: [] };
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  for (const name of ['node_modules', 'device-profiles']) symlinkSync(join(PROJECT, name), join(root, name));
}

test('the compiler refuses what does not fit the types, at the lines of the mutant or at others', { timeout: 60_000 }, () => {
  makeProject();
  writeFileSync(join(root, 'src/level.ts'), SOURCE);
  const wordsOf = ({ text, instead }: Mutant) => `${text} → ${instead}`;
  const mutants = mutantsOf('src/level.ts', SOURCE).filter((one) => [...REFUSED, ...ACCEPTED].includes(wordsOf(one)));
  expect(mutants.length).toBe(4);
  const refused = refusedByTypes(mutants, root, join(root, '.run/mutation-score/types'));
  expect(new Set([...refused].map(wordsOf))).toEqual(new Set(REFUSED));
});
