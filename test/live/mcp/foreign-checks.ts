import { execFile } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { FOREIGN_HINT, foreignPackages } from '../../../scripts/foreign-packages.ts';

const CHECKS = join(import.meta.dirname, 'checks');
const FOLDER = foreignPackages('mcp-checks') ?? '';
const RUN_LIMIT_MS = 240_000;
// Programs of others start `node` by name: it has to be the one that runs this.
const ENV = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` };

/** Why they cannot be run here; undefined where they can. */
export const MISSING_CHECKS = FOLDER === '' ? FOREIGN_HINT : undefined;

interface Ended {
  readonly code: number;
  readonly text: string;
}

/** The conformance suite of the protocol against a server, by the requirements of one revision. */
export function conformance(url: string, revision: string): Promise<Ended> {
  const program = join(FOLDER, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const expected = join(CHECKS, `expected-${revision}.yaml`);
  return run(
    process.execPath,
    [program, 'server', '--url', url, '--requirements', revision, '--expected-failures', expected],
    RUN_LIMIT_MS,
  );
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
