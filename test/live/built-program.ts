import { createHash, randomUUID } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { bundle, ROOT } from '../../scripts/bundle.ts';

const BUILT = join(ROOT, '.run/programs');
const UNUSED_MS = 24 * 3_600_000;
const ofThisProcess = new Map<string, Promise<string>>();

/**
 * Path of a program, `src/main.ts` for one, as a release has it: in a bundle, which starts with a third of the work that its
 * sources take. Built again only when a source changed, and never while a test runs.
 */
export function builtProgram(entry: string): Promise<string> {
  const known = ofThisProcess.get(entry) ?? build(entry);
  ofThisProcess.set(entry, known);
  return known;
}

async function build(entry: string): Promise<string> {
  const name = basename(entry, '.ts');
  const directory = join(BUILT, `${name}-${sourceHash(entry)}`);
  const program = join(directory, `${name}.mjs`);
  if (existsSync(program)) {
    utimesSync(directory, new Date(), new Date());
    return program;
  }
  removeUnused();
  // Process ids repeat between private networks.
  const unfinished = `${directory}.${randomUUID()}`;
  await bundle({ entry, outDir: unfinished, name, wayToRoot: '../../..' });
  // Another process may have been faster; both built the same.
  await rename(unfinished, directory).catch(() => rm(unfinished, { recursive: true }));
  return program;
}

function sourceHash(entry: string): string {
  const sources = globSync(['{src,scripts,test}/**/*.{ts,json,patch}'], {
    cwd: ROOT,
    exclude: ['src/web/**', '**/*.test.ts', '**/node_modules/**'],
  });
  const hash = createHash('sha256').update(entry);
  for (const file of ['package-lock.json', ...sources.sort()]) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 16);
}

function removeUnused(): void {
  const names = existsSync(BUILT) ? readdirSync(BUILT) : [];
  const isUnused = (path: string) => Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > UNUSED_MS;
  for (const path of names.map((name) => join(BUILT, name)).filter(isUnused)) rmSync(path, { recursive: true, force: true });
}
