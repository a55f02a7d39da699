import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const CHUNK = /^chunk-.*\.mjs$/;
/** The files of one build are written within this time. */
const BUILD_MS = 60_000;

const modifiedMs = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs;

/**
 * Moves a bundle into its folder: chunks first, the program last, so that who starts it meanwhile gets the old one or the new one. The
 * chunks of the build before stay, since a hub that runs from it loads them on demand; older ones go. Other files there, such as
 * packages, are left alone.
 */
export function placeBundle(staged: string, folder: string, name: string): void {
  mkdirSync(folder, { recursive: true });
  const main = `${name}.mjs`;
  const beforeMs = modifiedMs(join(folder, main)) ?? Number.POSITIVE_INFINITY;
  const made = new Set(readdirSync(staged));
  for (const file of made) if (file !== main) renameSync(join(staged, file), join(folder, file));
  renameSync(join(staged, main), join(folder, main));
  for (const file of readdirSync(folder).filter((other) => CHUNK.test(other) && !made.has(other))) {
    if ((modifiedMs(join(folder, file)) ?? 0) < beforeMs - BUILD_MS) rmSync(join(folder, file), { force: true });
  }
}

/** Whether what was built is missing, or older than one of its sources, files and all files in folders, or one of them is gone. */
export function isOlderThan(built: string, sources: readonly string[]): boolean {
  const builtMs = modifiedMs(built);
  if (builtMs === undefined) return true;
  const files = sources.flatMap((path) => (statSync(path, { throwIfNoEntry: false })?.isDirectory() ? filesIn(path) : [path]));
  return files.some((file) => (modifiedMs(file) ?? Number.POSITIVE_INFINITY) > builtMs);
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
