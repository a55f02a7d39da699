import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Mutant } from './mutants.ts';
import type { Candidate, Reach } from './reach.ts';
import type { FileTests, RunResult, TestRuns } from './test-runs.ts';

/** What became of a mutant: a test noticed it, the compiler refused it, or nobody noticed it; `unreached` where no test runs its place. */
export interface Verdict {
  readonly id: string;
  readonly state: 'noticed' | 'refused' | 'survived' | 'unreached';
  /** The test that noticed it, or how else it was noticed; empty where nobody did. */
  readonly by: string;
  /** The compiler was asked too, which it is about what no test noticed. */
  readonly isTypeChecked?: true;
}

/** What runs tests with a mutant. */
type Runs = Pick<TestRuns, 'run' | 'use' | 'renew' | 'mutant'>;

export function isUnnoticed(verdict: Verdict | undefined): boolean {
  return verdict?.state === 'survived' || verdict?.state === 'unreached';
}

/**
 * Beside the first tests, no more are asked than take this long together without any mutant: one that only the others notice counts as
 * one that survived.
 */
const MOST_MS = 15_000;
const FIRST = 3;
/** A run with a mutant may take this many times as long as without, and a while more; then it counts as noticed. */
const TIMES = 4;
const MORE_MS = 15_000;

/** Verdicts that stay in a file from run to run; the last one about a mutant counts. */
export class Verdicts {
  readonly #path: string;
  readonly #verdicts = new Map<string, Verdict>();

  constructor(path: string) {
    this.#path = path;
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
    for (const verdict of lines.map((line): Verdict => JSON.parse(line))) this.#verdicts.set(verdict.id, verdict);
  }

  of({ id }: Mutant): Verdict | undefined {
    return this.#verdicts.get(id);
  }

  add(verdict: Verdict): void {
    this.#verdicts.set(verdict.id, verdict);
    appendFileSync(this.#path, `${JSON.stringify(verdict)}\n`);
  }

  /** Those mutants that no test noticed, and that the compiler was not asked about. */
  forCompiler(mutants: readonly Mutant[]): readonly Mutant[] {
    return mutants.filter((mutant) => isUnnoticed(this.of(mutant)) && !this.of(mutant)?.isTypeChecked);
  }

  /** Adds what the compiler says of mutants that have a verdict: it refuses some, and the others keep theirs. */
  addTypeCheck(mutants: readonly Mutant[], refused: ReadonlySet<Mutant>): void {
    for (const mutant of mutants) {
      const known = this.of(mutant);
      if (!known) continue;
      const { state, by } = refused.has(mutant) ? ({ state: 'refused', by: 'types' } as const) : known;
      this.add({ id: mutant.id, state, by, isTypeChecked: true });
    }
  }
}

/** Runs the tests that reach a mutant, file by file, until one notices it. */
export async function verdictOn(mutant: Mutant, reach: Pick<Reach, 'candidates' | 'isLoaded'>, runs: Runs): Promise<Verdict> {
  const { id } = mutant;
  const candidates = reach.candidates(mutant);
  if (candidates.length === 0) return { id, state: 'unreached', by: '' };
  // What ran while modules were loaded does not run again, so that the mutant has to be active from the start of a process.
  await runs.use(reach.isLoaded(mutant) ? id : '');
  let spentMs = 0;
  for (const [index, candidate] of candidates.entries()) {
    spentMs += candidate.ms;
    if (spentMs > MOST_MS && index >= FIRST) break;
    const by = await noticed(mutant, candidate, runs);
    if (by !== undefined) return { id, state: 'noticed', by: `${candidate.file}: ${by}` };
  }
  return { id, state: 'survived', by: '' };
}

/** By what tests notice a mutant; undefined where they do not. */
async function noticed({ id }: Mutant, tests: Candidate, runs: Runs): Promise<string | undefined> {
  const limitMs = tests.ms * TIMES + MORE_MS;
  const result = await runs.run(id, tests, limitMs);
  const failure = failureOf(result);
  if (failure === undefined) return undefined;
  const failed = result.tests.filter(({ passed }) => !passed).map((test) => test.id);
  const failedTests = failed.length > 0 ? { ...tests, ids: failed } : tests;
  if (await passWithout(runs, failedTests, limitMs)) return failure;
  // An earlier mutant left something behind, or the machine is busy: once more, in processes that are new and have more time.
  await runs.renew();
  const anew = failureOf(await runs.run(id, tests, limitMs * 2));
  await runs.renew();
  return anew !== undefined && (await passWithout(runs, failedTests, limitMs * 2)) ? anew : undefined;
}

async function passWithout(runs: Runs, tests: FileTests, limitMs: number): Promise<boolean> {
  const mutant = runs.mutant;
  await runs.use('');
  const passed = failureOf(await runs.run('', tests, limitMs)) === undefined;
  await runs.use(mutant);
  return passed;
}

function failureOf({ tests, errors, timedOut }: RunResult): string | undefined {
  if (timedOut) return 'it took too long';
  return tests.find(({ passed }) => !passed)?.name ?? errors[0];
}
