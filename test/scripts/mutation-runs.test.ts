import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Mutant, mutantsOf } from '../../scripts/mutation-score/mutants.ts';
import { switchedSource } from '../../scripts/mutation-score/switched-source.ts';
import { TestRuns } from '../../scripts/mutation-score/test-runs.ts';

const PROJECT = new URL('../..', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'atmo-mutation-runs-'));
const LIMIT_MS = 60_000;
const FILE = 'test/level.test.ts';

const SOURCE = `export const start = 3;
export function levelOf(steps: number): number {
  let level = start;
  while (level < steps) level += 1;
  return level;
}
`;
const TEST = `import { appendFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { levelOf, start } from '../src/level.ts';
test('notes its process', () => appendFileSync('${root}/processes', process.pid + '\\n'));
test('counts', () => expect(levelOf(7)).toBe(7));
test('begins with three', () => expect(start).toBe(3));
`;

let runs: TestRuns;
const mutants = mutantsOf('src/level.ts', SOURCE);
const [start, bound, endless] = [mutantTo('4'), mutantTo('level <= steps'), mutantTo('level -= 1')];

function mutantTo(instead: string): Mutant {
  return mutants.find((one) => one.instead === instead) ?? expect.unreachable(instead);
}

beforeAll(async () => {
  for (const name of ['src', 'test']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'src/level.ts'), SOURCE);
  writeFileSync(join(root, FILE), TEST);
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  symlinkSync(join(PROJECT, 'node_modules'), join(root, 'node_modules'));
  const sources = { [pathToFileURL(join(root, 'src/level.ts')).href]: switchedSource(SOURCE, mutants) };
  writeFileSync(join(root, 'sources.json'), JSON.stringify(sources));
  vi.stubEnv('ATMO_MUTATED_SOURCES', join(root, 'sources.json'));
  const script = (name: string) => join(PROJECT, 'scripts/mutation-score', name);
  runs = await TestRuns.start({ root, preload: script('load-switched.ts'), setup: script('setup-mutants.ts') });
}, LIMIT_MS);

afterAll(async () => {
  await runs?.end();
  rmSync(root, { recursive: true });
  vi.unstubAllEnvs();
});

/** Names of the tests that fail, or what went wrong outside of them. */
async function failuresWith(id: string, limitMs = LIMIT_MS): Promise<readonly string[]> {
  const { tests, errors, timedOut } = await runs.run(id, { file: FILE }, limitMs);
  if (timedOut) return ['timed out'];
  return [...tests.filter(({ passed }) => !passed).map(({ name }) => name), ...errors];
}

const processes = () => readFileSync(join(root, 'processes'), 'utf8').trim().split('\n');

test('a run that records names the mutants that each test reaches, and those that loading the modules did', {
  timeout: LIMIT_MS,
}, async () => {
  await runs.use(undefined);
  const { tests } = await runs.run('', { file: FILE }, LIMIT_MS);
  const [notes, counts] = tests;
  expect(tests.map(({ name, passed }) => [name, passed])).toEqual([
    ['notes its process', true],
    ['counts', true],
    ['begins with three', true],
  ]);
  expect(notes).toMatchObject({ loaded: [start.id], reached: [] });
  expect(counts?.reached).toEqual(expect.arrayContaining([bound.id, endless.id]));
  expect(counts?.reached).not.toContain(start.id);
});

test('runs without a mutant and with one after the other share a process, and each has its own mutant', { timeout: LIMIT_MS }, async () => {
  await runs.use('');
  rmSync(join(root, 'processes'), { force: true });
  expect(await failuresWith('')).toEqual([]);
  expect(await failuresWith(bound.id)).toEqual(['counts']);
  expect(await failuresWith('')).toEqual([]);
  const [first, ...others] = processes();
  expect(others).toEqual([first, first]);
  await runs.renew();
  expect(await failuresWith('')).toEqual([]);
  expect(processes().at(-1)).not.toBe(first);
});

test('one test of a file can be run alone', { timeout: LIMIT_MS }, async () => {
  await runs.use('');
  const all = await runs.run('', { file: FILE }, LIMIT_MS);
  const ids = all.tests.filter(({ name }) => name === 'begins with three').map(({ id }) => id);
  const alone = await runs.run(bound.id, { file: FILE, ids }, LIMIT_MS);
  expect(alone.tests.map(({ name, passed }) => [name, passed])).toEqual([['begins with three', true]]);
});

test('a mutant that never ends is ended at the limit, and the next run has a new process', { timeout: LIMIT_MS }, async () => {
  await runs.use('');
  expect(await failuresWith('')).toEqual([]);
  expect(await failuresWith(endless.id, 1_000)).toEqual(['timed out']);
  expect(await failuresWith('')).toEqual([]);
});

test('a mutant of what runs while modules are loaded acts only where it is active from the start of the process', {
  timeout: LIMIT_MS,
}, async () => {
  await runs.use('');
  expect(await failuresWith('')).toEqual([]);
  expect(await failuresWith(start.id)).toEqual([]);
  await runs.use(start.id);
  expect(await failuresWith(start.id)).toEqual(['begins with three']);
  await runs.use('');
  expect(await failuresWith('')).toEqual([]);
});
