import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { firstFailure, type TestReport } from '../../../scripts/mutations.ts';
import type { PlantedBug } from './planted-bugs.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const REPORT = `${ROOT}.run/simulation/ordinary-tests.json`;
const LIMIT_MS = 600_000;
const NOBODY = 'none in the tests of its module';

/** The ordinary test that fails first with a planted bug, as file and name: those of the folder of the source run first, then its module. */
export function ordinaryTestOf({ name, file }: PlantedBug): string {
  const [, ...folders] = file.split('/').slice(0, -1);
  for (const folder of new Set([folders.join('/'), folders[0]])) {
    const failed = existsSync(`${ROOT}test/${folder}`) && failureIn(`test/${folder}/`, name);
    if (failed) return `${relative(ROOT, failed.file)}: ${failed.name}`;
  }
  return NOBODY;
}

function failureIn(tests: string, bug: string): ReturnType<typeof firstFailure> {
  rmSync(REPORT, { force: true });
  const plant = `--import=${new URL('plant-for-tests.ts', import.meta.url).pathname}`;
  const env = { ...process.env, PLANTED_BUG: bug, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${plant}`.trim() };
  const options = [
    'run',
    '--config',
    'test/vitest.config.ts',
    '--project',
    'unit',
    '--bail=1',
    '--reporter=json',
    `--outputFile=${REPORT}`,
  ];
  spawnSync('vitest', [...options, tests], { cwd: ROOT, env, timeout: LIMIT_MS, stdio: 'ignore' });
  if (!existsSync(REPORT)) return undefined;
  const report: TestReport = JSON.parse(readFileSync(REPORT, 'utf8'));
  return report.testResults.some(({ assertionResults }) => assertionResults.some(({ status }) => status === 'failed'))
    ? firstFailure(report)
    : undefined;
}
