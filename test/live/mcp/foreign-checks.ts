import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const CHECKS = join(import.meta.dirname, 'checks');
const FOLDER = join(import.meta.dirname, '../../../.run/mcp-checks');
const MARK = join(FOLDER, 'installed');
const INSTALL_LIMIT_MS = 240_000;
const RUN_LIMIT_MS = 240_000;
// Programs of others start `node` by name: it has to be the one that runs this.
const ENV = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` };

interface Ended {
  readonly code: number;
  readonly text: string;
}

/** Installs the programs of `checks/package-lock.json` once, without install scripts; answers why they cannot be had here. */
export async function installChecks(): Promise<string | undefined> {
  const lock = createHash('sha256')
    .update(readFileSync(join(CHECKS, 'package-lock.json')))
    .digest('hex');
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === lock) return undefined;
  mkdirSync(FOLDER, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(CHECKS, file), join(FOLDER, file));
  const { code, text } = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], INSTALL_LIMIT_MS);
  if (code !== 0) return `npm ci in .run/mcp-checks failed: ${text.trim().split('\n').at(-1)}`;
  writeFileSync(MARK, lock);
  return undefined;
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
