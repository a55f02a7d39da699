import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { exactly, firstFailure, runUnitTests } from '../../../scripts/check/unit-report.ts';
import type { PlantedBug } from './planted-bugs.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const RUN = { root: ROOT, reportFile: `${ROOT}.run/simulation/ordinary-tests.json`, limitMs: 600_000 };
const NOBODY = 'none in the tests of its module';
const PLANT = `--import=${new URL('plant-for-tests.ts', import.meta.url).pathname}`;

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
  const env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${PLANT}`.trim(), PLANTED_BUG: bug };
  const { hasPassed, report } = runUnitTests(['--bail=1', tests], { ...RUN, env });
  if (hasPassed) return undefined;
  const failed = firstFailure(report);
  if (!failed) throw new Error(`Each test of ${tests} that failed with “${bug}” ran out of time`);
  const file = relative(ROOT, failed.file);
  requireSound(file, failed.name);
  return `${file}: ${failed.name}`;
}

/** Throws unless a test passes without a bug. */
function requireSound(file: string, name: string): void {
  const { hasPassed, report } = runUnitTests([file, '-t', exactly(name)], RUN);
  const hasRun = report.testResults.some(({ assertionResults }) => assertionResults.some((result) => result.status === 'passed'));
  if (!hasPassed || !hasRun) throw new Error(`This test fails without a bug too: ${file}: ${name}`);
}
