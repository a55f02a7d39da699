import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compilerOfMutations } from '../mutation.ts';
import type { Mutant } from './mutants.ts';

const COMPILER = { ...compilerOfMutations('../../../tsconfig.json', './types.tsbuildinfo'), include: ['src'], exclude: ['src/web'] };

/**
 * Returns those mutants that the compiler refuses. It gets many at a time: no two on the same line, and the sources are a copy in
 * `folder`. One that takes a line out hides what another breaks there.
 */
export function refusedByTypes(mutants: readonly Mutant[], root: string, folder: string): ReadonlySet<Mutant> {
  prepare(root, folder);
  // Without the tests, the compiler lacks types that only their libraries declare.
  const before = mistakesIn(root, folder);
  const isNew = ({ file, line }: Mistake) => !before.some((known) => known.file === file && known.line === line);
  const mistakesOf = (batch: readonly Mutant[]) => mistakesWith(batch, root, folder).filter(isNew);
  return new Set(batchesOf(mutants).flatMap((batch) => refusedIn(batch, mistakesOf)));
}

/**
 * Most mutants are refused at their own lines. Where the mistake is elsewhere, mutants of that file are tried without the others, or all
 * when the file has none, in halves until it is known which one it comes from.
 */
function refusedIn(batch: readonly Mutant[], mistakesOf: (batch: readonly Mutant[]) => readonly Mistake[]): readonly Mutant[] {
  const mistakes = mistakesOf(batch);
  if (batch.length <= 1) return mistakes.length > 0 ? batch : [];
  const refused = batch.filter((mutant) => mistakes.some((mistake) => isAt(mistake, mutant)));
  const elsewhere = mistakes.filter((mistake) => !refused.some((mutant) => isAt(mistake, mutant)));
  const suspects = suspectsOf(
    elsewhere,
    batch.filter((mutant) => !refused.includes(mutant)),
  );
  const middle = Math.ceil(suspects.length / 2);
  const parts = suspects.length < batch.length ? [suspects] : [suspects.slice(0, middle), suspects.slice(middle)];
  return [...refused, ...parts.filter((part) => part.length > 0).flatMap((part) => refusedIn(part, mistakesOf))];
}

/** Mutants that mistakes may come from which are not at the lines of any. */
function suspectsOf(mistakes: readonly Mistake[], mutants: readonly Mutant[]): readonly Mutant[] {
  const isOfFile = (mutant: Mutant) => mistakes.some(({ file }) => file === mutant.file);
  const isKnownFile = mistakes.every(({ file }) => mutants.some((mutant) => mutant.file === file));
  return isKnownFile ? mutants.filter(isOfFile) : mutants;
}

interface Mistake {
  readonly file: string;
  readonly line: number;
}

/** What the compiler finds in the copy with all these mutants. */
function mistakesWith(mutants: readonly Mutant[], root: string, folder: string): readonly Mistake[] {
  const changed = Map.groupBy(mutants, ({ file }) => file);
  for (const [file, own] of changed) writeFileSync(join(folder, file), withAll(own, readFileSync(join(root, file), 'utf8')));
  const mistakes = mistakesIn(root, folder);
  for (const file of changed.keys()) cpSync(join(root, file), join(folder, file));
  return mistakes;
}

function prepare(root: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of ['src', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', 'device-profiles']) symlinkSync(join(root, name), join(folder, name));
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(COMPILER));
}

/** Lines that a mutant changes; the replacement has as many lines as the text. */
function linesOf({ line, text }: Mutant): readonly [first: number, last: number] {
  return [line, line + text.split('\n').length - 1];
}

function isAt({ file, line }: Mistake, mutant: Mutant): boolean {
  const [first, last] = linesOf(mutant);
  return file === mutant.file && line >= first && line <= last;
}

/** Mutants in batches, so that no two of a batch share a line. */
export function batchesOf(mutants: readonly Mutant[]): readonly (readonly Mutant[])[] {
  const batches: Mutant[][] = [];
  for (const mutant of mutants) {
    const batch = batches.find((others) => others.every((other) => !share(other, mutant)));
    if (batch) batch.push(mutant);
    else batches.push([mutant]);
  }
  return batches;
}

function share(one: Mutant, other: Mutant): boolean {
  if (one.file !== other.file) return false;
  const [[first, last], [otherFirst, otherLast]] = [linesOf(one), linesOf(other)];
  return first <= otherLast && otherFirst <= last;
}

/** The source with several mutants, whose lines keep their numbers. */
function withAll(mutants: readonly Mutant[], source: string): string {
  const lastFirst = mutants.toSorted((a, b) => b.start - a.start);
  return lastFirst.reduce((changed, { kind, start, end, text, ...mutant }) => {
    // An empty statement after an `if` is refused, an empty block is not.
    const instead = kind === 'statement' ? '{}' : mutant.instead;
    const missing = text.split('\n').length - instead.split('\n').length;
    return changed.slice(0, start) + instead + '\n'.repeat(Math.max(0, missing)) + changed.slice(end);
  }, source);
}

function mistakesIn(root: string, folder: string): readonly Mistake[] {
  const { stdout, error } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1e8,
  });
  if (error) throw error;
  return [...stdout.matchAll(/^(src\/\S+?)\((\d+),\d+\): error TS/gm)].map(([, file = '', line]) => ({ file, line: Number(line) }));
}
