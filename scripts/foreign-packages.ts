/**
 * Programs of others that tests run. Each has a lock of its own, since they would double the packages of the hub or need another
 * TypeScript. Installed into `.run/packages`, without install scripts; run as a program, this file installs all.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sha256Hex } from '../src/codec/hashes.ts';
import { ROOT } from './bundle.ts';

const execute = promisify(execFile);
const INSTALL_LIMIT_MS = 240_000;
const LOCKS = {
  'mcp-checks': 'test/live/mcp/checks',
  'openapi-client': 'test/openapi-client',
  'ffmpeg-program': 'test/live/connectors/ffmpeg-program',
  serial: 'test/live/sensors/serial-package',
  'older-node': 'test/live/package/older-node',
} as const;

/** A set of packages that tests use. */
export type ForeignPackages = keyof typeof LOCKS;

/** What tests say that miss one. */
export const FOREIGN_HINT = 'packages of others are not installed: node scripts/foreign-packages.ts';

/** The folder with `node_modules` of a set as its lock wants it; undefined where it is not installed. */
export function foreignPackages(name: ForeignPackages): string | undefined {
  const mark = markOf(name);
  return existsSync(mark) && readFileSync(mark, 'utf8') === lockHash(name) ? folderOf(name) : undefined;
}

/** Installs a set where it is missing. Rejects with what npm says, without the registry or the network for example. */
async function install(name: ForeignPackages): Promise<void> {
  if (foreignPackages(name) !== undefined) return;
  const folder = folderOf(name);
  mkdirSync(folder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(ROOT, LOCKS[name], file), join(folder, file));
  await execute('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    timeout: INSTALL_LIMIT_MS,
  });
  writeFileSync(markOf(name), lockHash(name));
}

function folderOf(name: ForeignPackages): string {
  return join(ROOT, '.run/packages', name);
}

/** Written last: a folder without it is half installed. */
function markOf(name: ForeignPackages): string {
  return join(folderOf(name), 'installed');
}

function lockHash(name: ForeignPackages): string {
  return sha256Hex(readFileSync(join(ROOT, LOCKS[name], 'package-lock.json')));
}

if (import.meta.main) {
  for (const name of Object.keys(LOCKS) as ForeignPackages[]) {
    await install(name).catch((error: unknown) => {
      console.error(`foreign-packages: ${name} cannot be installed: ${error instanceof Error ? error.message : error}`);
      process.exitCode = 1;
    });
  }
}
