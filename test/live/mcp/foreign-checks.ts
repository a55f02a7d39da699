import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { FOREIGN_HINT, foreignPackages } from '../../../scripts/foreign-packages.ts';

const CHECKS = join(import.meta.dirname, 'checks');
const FOLDER = foreignPackages('mcp-checks') ?? '';
const RUN_LIMIT_MS = 240_000;
/** A scenario takes up to 10 s on a quiet machine; the suite would give up after 30 s. */
const SCENARIO_LIMIT_MS = 120_000;
// Programs of others start `node` by name: it has to be the one that runs this.
const ENV = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` };

/** Why they cannot be run here; undefined where they can. */
export const MISSING_CHECKS = FOLDER === '' ? FOREIGN_HINT : undefined;

interface Ended {
  readonly code: number;
  readonly text: string;
}

/** What the suite found in one scenario. */
interface ScenarioResult {
  readonly passed: number;
  /** Ids of the checks that failed or warn. */
  readonly failed: readonly string[];
}

interface SuiteEnded extends Ended {
  /** By the name of the scenario, also of those that a revision does not require. */
  readonly results: Readonly<Record<string, ScenarioResult>>;
}

/** The program of the conformance suite. */
export function conformanceProgram(): string {
  return join(FOLDER, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
}

/**
 * Runs the conformance suite of the protocol against a server, by the requirements of one revision. Scenarios that the revision does not
 * require are run as well; they change nothing about the exit code.
 */
export async function conformance(url: string, revision: string): Promise<SuiteEnded> {
  const program = conformanceProgram();
  const outDir = mkdtempSync(join(tmpdir(), 'mcp-conformance-results-'));
  const expected = join(CHECKS, `expected-${revision}.yaml`);
  const words = ['--url', url, '--requirements', revision, '--expected-failures', expected, '--output-dir', outDir];
  try {
    const ended = await run(process.execPath, [program, 'server', ...words, '--timeout', String(SCENARIO_LIMIT_MS)], RUN_LIMIT_MS);
    return { ...ended, results: resultsIn(outDir) };
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
}

/** The suite writes each scenario that came to its end into a folder `server-NAME-TIME`. */
function resultsIn(outDir: string): SuiteEnded['results'] {
  const entries = globSync('*/checks.json', { cwd: outDir }).map((file) => {
    const checks = JSON.parse(readFileSync(join(outDir, file), 'utf8')) as readonly { id: string; status: string }[];
    const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING').map(({ id }) => id);
    const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
    return [dirname(file).replace(/^server-|-\d{4}-\d{2}-\d{2}T[\d-]+Z$/g, ''), { passed, failed: [...new Set(failed)] }];
  });
  return Object.fromEntries(entries);
}

/** The inspector's command line. */
export function inspector(url: string, token: string, words: readonly string[]): Promise<Ended> {
  const program = join(FOLDER, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const target = ['--cli', url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`];
  return run(process.execPath, [program, ...target, ...words], RUN_LIMIT_MS);
}

function run(command: string, words: readonly string[], limitMs: number): Promise<Ended> {
  const options = { cwd: FOLDER, env: ENV, timeout: limitMs, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(command, [...words], options, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error ? 1 : 0;
      resolve({ code, text: `${stdout}\n${stderr}` });
    });
  });
}
