import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { Reach } from '../../scripts/mutation-score/reach.ts';
import type { FileTests, RunResult, TestResult, TestRuns } from '../../scripts/mutation-score/test-runs.ts';
import { mutantWith } from './mutation-fixture.ts';

const root = mkdtempSync(join(tmpdir(), 'atmo-reach-'));
afterAll(() => rmSync(root, { recursive: true }));

const FILES: Readonly<Record<string, string>> = {
  'src/calls/order.ts': 'export const order = 1;',
  'test/far.test.ts': "const text = `import './missing.ts';`;\nimport './helper.ts';",
  'test/helper.ts': "import { order } from '../src/calls/order.ts';",
  'test/near.test.ts': '',
  'test/quick.test.ts': '',
  'test/calls/order.test.ts': '',
  'test/broken.test.ts': '',
};
for (const [file, text] of Object.entries(FILES)) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

const TESTS: Readonly<Record<string, readonly Partial<TestResult>[]>> = {
  'test/far.test.ts': [{ id: 'far', reached: ['one'], ms: 5 }],
  'test/near.test.ts': [
    { id: 'near 1', reached: ['one', 'two', 'three'], ms: 300 },
    { id: 'near 2', reached: ['one'], ms: 20 },
    { id: 'near 3', shared: ['shared'], ms: 1 },
  ],
  'test/quick.test.ts': [{ id: 'quick', reached: ['one'], ms: 1 }],
  'test/calls/order.test.ts': [{ id: 'own', reached: ['one'], loaded: ['start'], ms: 900 }],
  'test/broken.test.ts': [{ id: 'broken', reached: ['one', 'nobody else'], passed: false, ms: 1 }],
};

/** Runs that play the tests above; they note which files were run, and whether what is reached was recorded. */
class PlayedRuns implements Pick<TestRuns, 'run' | 'use'> {
  readonly asked: string[] = [];
  #mutant: string | undefined = '';

  async run(_mutant: string, { file }: FileTests): Promise<RunResult> {
    this.asked.push(`${file}${this.#mutant === undefined ? '' : ' without recording'}`);
    const passing = { id: '', name: file, passed: true, ms: 0, reached: [], loaded: [], shared: [] };
    return { tests: (TESTS[file] ?? []).map((own) => ({ ...passing, ...own })), errors: [], timedOut: false };
  }

  async use(mutant: string | undefined): Promise<void> {
    this.#mutant = mutant;
  }
}

const mutants = ['one', 'two', 'three', 'shared', 'start', 'nobody else'].map((id) => mutantWith({ id }));
const [one, two, , shared, start, brokenOnly] = mutants;

const output = vi.spyOn(process.stdout, 'write');
beforeEach(() => void output.mockReset().mockReturnValue(true));

async function recorded(path = 'reach.json'): Promise<{ readonly reach: Reach; readonly runs: PlayedRuns }> {
  const reach = new Reach(root, join(root, path), mutants);
  const runs = new PlayedRuns();
  await reach.record([runs], Object.keys(TESTS), 'sources');
  return { reach, runs };
}

test('the tests of a mutant are those that reach it: first of the file with its name, then by their share of its source, then by time', async () => {
  const { reach } = await recorded();
  expect(one && reach.candidates(one)).toEqual([
    { file: 'test/calls/order.test.ts', ids: ['own'], ms: 900 },
    { file: 'test/near.test.ts', ids: ['near 1', 'near 2'], ms: 320 },
    { file: 'test/quick.test.ts', ids: ['quick'], ms: 1 },
    { file: 'test/far.test.ts', ids: ['far'], ms: 5 },
  ]);
  expect(two && reach.candidates(two)).toEqual([{ file: 'test/near.test.ts', ids: ['near 1'], ms: 300 }]);
});

test('what the tests of a file share belongs to all of them', async () => {
  const { reach } = await recorded();
  expect(shared && reach.candidates(shared)).toEqual([{ file: 'test/near.test.ts', ms: expect.any(Number) }]);
});

test('what runs while modules are loaded belongs to every file that imports its source, also through another file', async () => {
  const { reach } = await recorded();
  expect(start && [reach.isLoaded(start), reach.candidates(start).map(({ file }) => file)]).toEqual([
    true,
    ['test/calls/order.test.ts', 'test/far.test.ts'],
  ]);
  expect(one && reach.isLoaded(one)).toBe(false);
});

test('a file whose tests fail without any mutant notices nothing, which is said', async () => {
  const { reach } = await recorded('broken.json');
  expect(brokenOnly && reach.candidates(brokenOnly)).toEqual([]);
  expect(output).toHaveBeenCalledWith(expect.stringMatching(/^left out, as it fails without any mutant: test\/broken\.test\.ts/));
});

test('only files that changed are recorded again, and all when the sources did', async () => {
  await recorded('again.json');
  const { runs, reach } = await recorded('again.json');
  expect(runs.asked).toEqual([]);
  writeFileSync(join(root, 'test/quick.test.ts'), '// changed');
  await reach.record([runs], Object.keys(TESTS), 'sources');
  expect(runs.asked).toEqual(['test/quick.test.ts']);
  await reach.record([runs], Object.keys(TESTS), 'other sources');
  expect(runs.asked.length).toBe(1 + Object.keys(TESTS).length);
  await reach.record([runs], ['test/near.test.ts'], 'other sources');
  expect(one && reach.candidates(one).map(({ file }) => file)).toEqual(['test/near.test.ts']);
});
