import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter } from 'node:path';

/** The environment in which the programs of `node_modules` are found, the pinned Node among them. */
export const TOOLS_ENV: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [new URL('../../node_modules/.bin', import.meta.url).pathname, process.env.PATH].join(delimiter),
};

/** What vitest writes about a run. */
export interface TestReport {
  readonly testResults: readonly {
    /** Path of the file. */
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

export interface FailedTest {
  readonly file: string;
  readonly name: string;
}

/** What vitest found. */
interface UnitRun {
  readonly hasPassed: boolean;
  readonly report: TestReport;
}

interface UnitRunOptions {
  /** Root of the tree whose tests run. */
  readonly root: string;
  /** File for the report, which is replaced. */
  readonly reportFile: string;
  readonly limitMs: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs unit tests that `choice` names, as arguments of vitest. Throws if they do not end, or end without a report. */
export function runUnitTests(choice: readonly string[], { root, reportFile, limitMs, env = {} }: UnitRunOptions): UnitRun {
  rmSync(reportFile, { force: true });
  const options = ['run', '--config', 'test/vitest.config.ts', '--project', 'unit', '--reporter=json', `--outputFile=${reportFile}`];
  const { status, error, stderr } = spawnSync('vitest', [...options, ...choice], {
    cwd: root,
    env: { ...TOOLS_ENV, ...env },
    timeout: limitMs,
    encoding: 'utf8',
    maxBuffer: 1e8,
  });
  if (error) throw new Error(`the tests of ${choice.join(' ')} did not end: ${error.message}`);
  if (!existsSync(reportFile)) throw new Error(`the tests of ${choice.join(' ')} ended without a report: ${stderr}`);
  return { hasPassed: status === 0, report: JSON.parse(readFileSync(reportFile, 'utf8')) };
}

/**
 * The first test that failed otherwise than by running out of time; undefined where there is none. Throws where no test failed, since
 * then a file was not loaded.
 */
export function firstFailure({ testResults }: TestReport): FailedTest | undefined {
  const failed = testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map((result) => ({ file, result })),
  );
  if (failed.length === 0) {
    const broken = testResults.find(({ message }) => message !== '');
    throw new Error(`no test failed, but a file could not be loaded or set up: ${broken?.name} ${broken?.message ?? ''}`);
  }
  // The first message is that of the test; those of what is done after it follow.
  const first = failed.find(({ result }) => result.failureMessages[0]?.includes('timed out') !== true);
  return first && { file: first.file, name: [...first.result.ancestorTitles, first.result.title].join(' > ') };
}

/** Returns the pattern of vitest's option `-t` that fits one test alone. */
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}
