import { createVitest, type TestCase, type Vitest } from 'vitest/node';
import { KeptProcesses } from './kept-process.ts';

/** How a test went. */
export interface TestResult {
  readonly id: string;
  readonly name: string;
  readonly passed: boolean;
  readonly ms: number;
  /** Mutants that were reached in the test; before it, while modules were loaded; before it, in what tests share. */
  readonly reached: readonly string[];
  readonly loaded: readonly string[];
  readonly shared: readonly string[];
}

export interface RunResult {
  readonly tests: readonly TestResult[];
  /** What failed outside of a test: a file that does not load, a promise that nobody waited for. */
  readonly errors: readonly string[];
  readonly timedOut: boolean;
}

/** Tests of one file; all of its tests where none is named. */
export interface FileTests {
  readonly file: string;
  readonly ids?: readonly string[];
}

export interface RunOptions {
  readonly root: string;
  /** Loaded before anything else, by each process. */
  readonly preload: string;
  /** Loaded before the tests of each file. */
  readonly setup: string;
}

/** Longest time of a test; runs have limits of their own. */
const TEST_MS = 120_000;
/** Most of a start is loading the program, which takes long on a busy machine. */
const START_MS = 60_000;
/** What is waited for comes at once, unless a mutant keeps it away. */
const POLL_MS = 5000;

/** Runs tests as the project does, in one process that stays. A run ends at the first failure. */
export class TestRuns {
  readonly #vitest: Vitest;
  readonly #processes: KeptProcesses;

  private constructor(vitest: Vitest, processes: KeptProcesses) {
    this.#vitest = vitest;
    this.#processes = processes;
  }

  static async start({ root, preload, setup }: RunOptions): Promise<TestRuns> {
    const processes = new KeptProcesses();
    const vitest = await createVitest({
      config: false,
      root,
      include: ['test/**/*.test.ts'],
      setupFiles: [setup],
      execArgv: [`--import=${preload}`],
      watch: false,
      reporters: [{}],
      pool: processes,
      isolate: false,
      maxWorkers: 1,
      bail: 1,
      testTimeout: TEST_MS,
      hookTimeout: TEST_MS,
      expect: { poll: { timeout: POLL_MS } },
      experimental: { viteModuleRunner: false, nodeLoader: false },
    });
    return new TestRuns(vitest, processes);
  }

  /** Runs tests of a file with a mutant, or with none (''); ends their process when they take longer than `limitMs`. */
  async run(mutant: string, { file, ids }: FileTests, limitMs: number): Promise<RunResult> {
    this.#forget();
    const project = this.#vitest.getRootProject();
    project.provide('mutant', mutant);
    const specification = project.createSpecification(`${this.#vitest.config.root}/${file}`, ids && { testIds: [...ids] });
    const startMs = this.#processes.startsNext ? START_MS : 0;
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      void this.#processes.kill();
    }, limitMs + startMs);
    const { testModules, unhandledErrors } = await this.#vitest.runTestSpecifications([specification], false);
    clearTimeout(timer);
    const cases = testModules.flatMap((module) => [...module.children.allTests()]);
    const broken = testModules.flatMap((module) => [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
    ]);
    return {
      tests: cases.filter(hasRun).map(resultOf),
      errors: [...broken, ...unhandledErrors].map(messageOf),
      timedOut,
    };
  }

  /** See `use`. */
  get mutant(): string | undefined {
    return this.#processes.mutant;
  }

  /** From now on, tests run where this mutant is active from the start ('' for none; undefined to record what is reached). */
  async use(mutant: string | undefined): Promise<void> {
    await this.#processes.use(mutant);
  }

  /** The next run gets a new process. */
  async renew(): Promise<void> {
    await this.#processes.renew();
  }

  async end(): Promise<void> {
    await this.#processes.end();
    await this.#vitest.close();
  }

  /** Failures of earlier runs would end the next one. */
  #forget(): void {
    const { state } = this.#vitest;
    state.errorsSet.clear();
    state.idMap.clear();
    state.filesMap.clear();
  }
}

function resultOf(test: TestCase): TestResult {
  const { reached = [], loaded = [], shared = [] } = test.meta();
  const passed = test.result().state === 'passed';
  return { id: test.id, name: test.fullName, passed, ms: test.diagnostic()?.duration ?? 0, reached, loaded, shared };
}

function hasRun(test: TestCase): boolean {
  return test.result().state === 'passed' || test.result().state === 'failed';
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
