import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { exactly, firstFailure, type TestReport } from '../../../scripts/mutations.ts';
import type { PlantedBug } from './planted-bugs.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const REPORT = `${ROOT}.run/simulation/ordinary-tests.json`;
const LIMIT_MS = 600_000;
const NOBODY = 'none in the tests of its module';
const PLANT = `--import=${new URL('plant-for-tests.ts', import.meta.url).pathname}`;
const OPTIONS = ['run', '--config', 'test/vitest.config.ts', '--project', 'unit', '--reporter=json', `--outputFile=${REPORT}`];

/**
 * The ordinary test that fails first with a planted bug, as file and name: those of the folder of the source run first, then its module.
 * Throws if the tests do not end, or end in a way that says nothing about the bug.
 */
export function ordinaryTestOf({ name, file }: PlantedBug): string {
  const [, ...folders] = file.split('/').slice(0, -1);
  for (const folder of new Set([folders.join('/'), folders[0]])) {
    const failed = existsSync(`${ROOT}test/${folder}`) && failureIn(`test/${folder}/`, name);
    if (failed) return failed;
  }
  return NOBODY;
}

function failureIn(tests: string, bug: string): string | undefined {
  const { status, report } = run(['--bail=1', tests], {
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${PLANT}`.trim(),
    PLANTED_BUG: bug,
  });
  if (status === 0) return undefined;
  const failed = firstFailure(report);
  if (!failed) throw new Error(`Each test of ${tests} that failed with “${bug}” ran out of time`);
  const file = relative(ROOT, failed.file);
  requireSound(file, failed.name);
  return `${file}: ${failed.name}`;
}

/** Throws unless a test passes without a bug. */
function requireSound(file: string, name: string): void {
  const { status, report } = run([file, '-t', exactly(name)], {});
  const hasPassed = report.testResults.some(({ assertionResults }) => assertionResults.some((result) => result.status === 'passed'));
  if (status !== 0 || !hasPassed) throw new Error(`This test fails without a bug too: ${file}: ${name}`);
}

function run(choice: readonly string[], variables: NodeJS.ProcessEnv): { readonly status: number | null; readonly report: TestReport } {
  rmSync(REPORT, { force: true });
  const env = { ...process.env, ...variables };
  const { status, error, stderr } = spawnSync('vitest', [...OPTIONS, ...choice], { cwd: ROOT, env, timeout: LIMIT_MS, encoding: 'utf8' });
  if (error) throw new Error(`The tests of ${choice.join(' ')} did not end: ${error.message}`);
  if (!existsSync(REPORT)) throw new Error(`The tests of ${choice.join(' ')} ended without a report: ${stderr}`);
  return { status, report: JSON.parse(readFileSync(REPORT, 'utf8')) };
}
