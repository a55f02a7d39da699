/** The two programs that the gate compares: that of the named commit, and that of the tree as it is. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../../src/core/errors.ts';
import { ROOT } from '../../bundle.ts';

/** What base.json says. */
export interface GateBase {
  /** Full id of the commit that the tree is held against. */
  readonly commit: string;
  /** Whether a figure that is worse ends the gate with an error. Otherwise it is only shown. */
  readonly blocks: boolean;
}

const FOLDER = join(ROOT, '.run/gate');

/** The commit to compare with, and whether the comparison may fail. */
export function gateBase(): GateBase {
  return JSON.parse(readFileSync(new URL('base.json', import.meta.url), 'utf8'));
}

/** Why the commit cannot be built here; undefined when it can. */
export function whyNoBase(commit: string): string | undefined {
  const { status } = spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
  if (status === 0) return undefined;
  const what = `the commit ${commit.slice(0, 12)} that scripts/bench/gate/base.json names is not here`;
  return `${what}: in a shallow clone, run git fetch --unshallow; without a clone, there is nothing to compare with`;
}

/**
 * Path of the program of a commit, built by its own scripts with the packages of now, in a folder of `.run`. A program that was
 * built with the same packages is used again; those of other commits go.
 */
export function buildBase(commit: string): string {
  const packages = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex')
    .slice(0, 8);
  const name = `${commit.slice(0, 12)}-${packages}`;
  const program = join(FOLDER, name, 'dist/atmo.mjs');
  if (existsSync(program)) return program;
  mkdirSync(FOLDER, { recursive: true });
  for (const other of readdirSync(FOLDER)) rmSync(join(FOLDER, other), { recursive: true, force: true });
  // Beside it, so that a build that was cut off is not taken for a whole one.
  const unfinished = join(FOLDER, `.${randomUUID()}`);
  mkdirSync(unfinished);
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: ROOT, maxBuffer: 1e9 });
  execFileSync('tar', ['-x', '-C', unfinished], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(unfinished, 'node_modules'));
  build(unfinished);
  renameSync(unfinished, join(FOLDER, name));
  return program;
}

/** Path of the program of the tree. */
export function buildPresent(): string {
  build(ROOT, '--if-stale');
  return join(ROOT, 'dist/atmo.mjs');
}

function build(root: string, ...options: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.ts', ...options], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new AtmoError('INTERNAL_ERROR', `${root} cannot be built with the packages of now: ${stderr}`);
}
