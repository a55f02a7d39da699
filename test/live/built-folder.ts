import { createHash, randomUUID } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../../scripts/bundle.ts';

const BUILT = join(ROOT, '.run/programs');
const UNUSED_MS = 24 * 3_600_000;

interface BuiltFolder {
  readonly name: string;
  /** Patterns of the files from which it is made, from the root of the repository. */
  readonly sources: readonly string[];
  readonly exclude: readonly string[];
  /** Makes the folder and fills it. */
  readonly build: (folder: string) => Promise<void>;
}

/** Path of a folder below `.run/programs` that is built again only when one of its sources changed, and never while a test runs. */
export async function builtFolder({ name, sources, exclude, build }: BuiltFolder): Promise<string> {
  const folder = join(BUILT, `${name}-${hashOf(name, sources, exclude)}`);
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return folder;
  }
  removeUnused();
  // Process ids repeat between private networks.
  const unfinished = `${folder}.${randomUUID()}`;
  await build(unfinished);
  // Another process may have been faster; both built the same.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
  return folder;
}

function hashOf(name: string, patterns: readonly string[], exclude: readonly string[]): string {
  const entries = globSync([...patterns, 'package-lock.json'], { cwd: ROOT, exclude, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash('sha256').update(name);
  for (const file of files.sort()) hash.update(file.slice(ROOT.length)).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

function removeUnused(): void {
  const names = existsSync(BUILT) ? readdirSync(BUILT) : [];
  const isUnused = (path: string) => Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > UNUSED_MS;
  for (const path of names.map((name) => join(BUILT, name)).filter(isUnused)) rmSync(path, { recursive: true, force: true });
}
