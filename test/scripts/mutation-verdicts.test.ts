import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EQUIVALENT } from '../../scripts/mutation-score/equivalent-mutants.ts';
import type { Candidate } from '../../scripts/mutation-score/reach.ts';
import { scoreReport } from '../../scripts/mutation-score/score-report.ts';
import type { FileTests, RunResult, TestResult } from '../../scripts/mutation-score/test-runs.ts';
import { type Verdict, Verdicts, verdictOn } from '../../scripts/mutation-score/verdicts.ts';
import { mutantWith } from './mutation-fixture.ts';

const mutant = mutantWith({ id: 'm' });

function resultOf(test: Partial<TestResult> = {}): RunResult {
  const passing = { id: 't', name: 'a call is refused', passed: true, ms: 1, reached: [], loaded: [], shared: [] };
  return { tests: [{ ...passing, ...test }], errors: [], timedOut: false };
}

const PASSED = resultOf();
const FAILED = resultOf({ passed: false });
const TIMED_OUT: RunResult = { tests: [], errors: ['the process ended'], timedOut: true };

/** Runs whose results are given; notes what was run, and with which mutant. */
class PlayedRuns {
  readonly asked: string[] = [];
  readonly limitsMs: number[] = [];
  readonly #results: (mutant: string, tests: FileTests, turn: number) => RunResult;
  mutant: string | undefined = '';

  constructor(results: (mutant: string, tests: FileTests, turn: number) => RunResult) {
    this.#results = results;
  }

  async run(mutant: string, tests: FileTests, limitMs: number): Promise<RunResult> {
    this.asked.push(`${mutant || 'none'} in ${tests.file}${tests.ids ? ` ${tests.ids.join()}` : ''}`);
    this.limitsMs.push(limitMs);
    return this.#results(mutant, tests, this.asked.length);
  }

  async use(mutant: string | undefined): Promise<void> {
    this.mutant = mutant;
  }

  async renew(): Promise<void> {
    this.asked.push('new process');
  }
}

const reachOf = (candidates: readonly Candidate[], isLoaded = () => false) => ({ candidates: () => candidates, isLoaded });
const ONE: readonly Candidate[] = [{ file: 'a.test.ts', ids: ['t', 'u'], ms: 10 }];

describe('a mutant', () => {
  test('that no test reaches is not run', async () => {
    const runs = new PlayedRuns(() => PASSED);
    expect(await verdictOn(mutant, reachOf([]), runs)).toEqual({ id: 'm', state: 'unreached', by: '' });
    expect(runs.asked).toEqual([]);
  });

  test('is noticed by a test that fails with it and passes without it', async () => {
    const runs = new PlayedRuns((active) => (active === 'm' ? FAILED : PASSED));
    expect(await verdictOn(mutant, reachOf(ONE), runs)).toEqual({ id: 'm', state: 'noticed', by: 'a.test.ts: a call is refused' });
    expect(runs.asked).toEqual(['m in a.test.ts t,u', 'none in a.test.ts t']);
  });

  test('is noticed when the tests take too long: four times as long as without it, and 15 seconds', async () => {
    const runs = new PlayedRuns((active) => (active === 'm' ? TIMED_OUT : PASSED));
    expect(await verdictOn(mutant, reachOf(ONE), runs)).toMatchObject({ state: 'noticed', by: 'a.test.ts: it took too long' });
    expect(runs.limitsMs[0]).toBe(4 * 10 + 15_000);
  });

  test('is not noticed by a test that fails without it too', async () => {
    const runs = new PlayedRuns(() => FAILED);
    expect(await verdictOn(mutant, reachOf(ONE), runs)).toEqual({ id: 'm', state: 'survived', by: '' });
  });

  test('is asked about once more in new processes where an earlier one broke the test', async () => {
    const played = (later: RunResult) => new PlayedRuns((active, _tests, turn) => (turn <= 2 ? FAILED : active === 'm' ? later : PASSED));
    expect(await verdictOn(mutant, reachOf(ONE), played(PASSED))).toMatchObject({ state: 'survived' });
    const runs = played(FAILED);
    expect(await verdictOn(mutant, reachOf(ONE), runs)).toMatchObject({ state: 'noticed' });
    expect(runs.asked.filter((what) => what === 'new process').length).toBe(2);
  });

  test('whose place ran while modules were loaded is active from the start of the process, and not in the run without it', async () => {
    const used: (string | undefined)[] = [];
    const runs = new PlayedRuns((active) => {
      used.push(runs.mutant);
      return active === 'm' ? FAILED : PASSED;
    });
    await verdictOn(
      mutant,
      reachOf(ONE, () => true),
      runs,
    );
    expect(used).toEqual(['m', '']);
    expect(runs.mutant).toBe('m');
  });

  test('gets the first three files of tests, and others while all together take less than 15 seconds', async () => {
    const files = (ms: number) => Array.from({ length: 5 }, (_, n): Candidate => ({ file: `${n}.test.ts`, ms }));
    const runs = new PlayedRuns(() => PASSED);
    await verdictOn(mutant, reachOf(files(60_000)), runs);
    expect(runs.asked).toEqual(['m in 0.test.ts', 'm in 1.test.ts', 'm in 2.test.ts']);
    const quick = new PlayedRuns(() => PASSED);
    await verdictOn(mutant, reachOf(files(3_500)), quick);
    expect(quick.asked.length).toBe(4);
  });
});

describe('verdicts', () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function pathOfVerdicts(): string {
    const folder = mkdtempSync(join(tmpdir(), 'atmo-verdicts-'));
    folders.push(folder);
    return join(folder, 'verdicts.jsonl');
  }

  test('stay in their file, and the last one about a mutant counts', () => {
    const path = pathOfVerdicts();
    const verdicts = new Verdicts(path);
    verdicts.add({ id: 'm', state: 'survived', by: '' });
    verdicts.add({ id: 'm', state: 'noticed', by: 'a.test.ts' });
    expect(new Verdicts(path).of(mutant)).toEqual({ id: 'm', state: 'noticed', by: 'a.test.ts' });
    expect(new Verdicts(path).of(mutantWith({ id: 'n' }))).toBeUndefined();
  });

  test('of tests stay after the compiler was asked, unless it refuses the mutant', () => {
    const verdicts = new Verdicts(pathOfVerdicts());
    const states = { noticed: 'noticed', unreached: 'unreached', survived: 'survived', wrong: 'survived' } as const;
    const mutants = [...Object.keys(states), 'open'].map((id) => mutantWith({ id }));
    for (const [id, state] of Object.entries(states)) verdicts.add({ id, state, by: '' });
    const asked = verdicts.forCompiler(mutants);
    expect(asked.map(({ id }) => id)).toEqual(['unreached', 'survived', 'wrong']);
    verdicts.addTypeCheck(asked, new Set(asked.filter(({ id }) => id === 'wrong')));
    expect(mutants.map((one) => verdicts.of(one)?.state)).toEqual(['noticed', 'unreached', 'survived', 'refused', undefined]);
    expect(mutants.map((one) => verdicts.of(one)?.by)).toEqual(['', '', '', 'types', undefined]);
    expect(verdicts.forCompiler(mutants)).toEqual([]);
  });
});

describe('the report', () => {
  const [equivalent] = EQUIVALENT;
  const given: readonly (readonly [Parameters<typeof mutantWith>[0], Verdict['state'] | undefined])[] = [
    [{ id: 'a' }, 'noticed'],
    [{ id: 'b', line: 7 }, 'survived'],
    [{ id: 'c' }, 'refused'],
    [{ id: 'd', line: 3 }, 'unreached'],
    [{ id: 'e', ...equivalent }, 'survived'],
    [{ id: 'f', ...equivalent }, 'noticed'],
    [{ id: 'g' }, undefined],
  ];
  const mutants = given.map(([parts]) => mutantWith(parts));
  const states = new Map(given.map(([{ id }, state]) => [id, state]));
  const verdicts = {
    of: ({ id }: { readonly id: string }): Verdict | undefined => {
      const state = states.get(id);
      return state && { id, state, by: '' };
    },
  };

  test('lists what nobody noticed by place, then the score, for which mutants without a verdict and those that nobody can notice do not count', () => {
    const [first, second, ...rows] = scoreReport(mutants, verdicts, ['calls', 'storage']);
    expect([first, second]).toEqual(['src/calls/order.ts:3  d  →  true', 'src/calls/order.ts:7  b  →  true']);
    expect(rows).toEqual([
      'src/calls/: 50.0 %: of 4 mutants, tests notice 1, the types 1; no test reaches 1, nobody can notice 0',
      'src/storage/: 100.0 %: of 2 mutants, tests notice 1, the types 0; no test reaches 0, nobody can notice 1',
      'src/: 60.0 %: of 6 mutants, tests notice 2, the types 1; no test reaches 1, nobody can notice 1',
    ]);
  });

  test('gives no score of a folder of which no mutant counts', () => {
    expect(scoreReport([], verdicts, ['codec'])).toEqual([
      'src/codec/: no score, as no mutant is judged that somebody could notice',
      'src/: no score, as no mutant is judged that somebody could notice',
    ]);
  });
});
