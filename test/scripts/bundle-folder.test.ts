import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isOlderThan, placeBundle } from '../../scripts/bundle-folder.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'atmo-bundle-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const DAY_SECONDS = 86_400;

/** A file of that many days ago. */
function write(path: string, daysAgo: number): string {
  const file = join(root, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, path);
  const then = Date.now() / 1000 - daysAgo * DAY_SECONDS;
  utimesSync(file, then, then);
  return file;
}

test('a build keeps the packages of the folder and the chunks of a hub that may still run, and drops older ones', () => {
  for (const file of ['dist/chunk-OLDER.mjs', 'dist/atmosphere-edge_0.1.0_arm64.deb']) write(file, 2);
  for (const file of ['dist/chunk-BEFORE.mjs', 'dist/atmo.mjs']) write(file, 1);
  for (const file of ['staged/chunk-NEW.mjs', 'staged/atmo.mjs']) write(file, 0);
  placeBundle(join(root, 'staged'), join(root, 'dist'), 'atmo');
  expect(readdirSync(join(root, 'dist')).toSorted()).toEqual([
    'atmo.mjs',
    'atmosphere-edge_0.1.0_arm64.deb',
    'chunk-BEFORE.mjs',
    'chunk-NEW.mjs',
  ]);
});

test('a folder without a program keeps no chunk of an earlier one', () => {
  write('dist/chunk-OLDER.mjs', 1);
  write('staged/atmo.mjs', 0);
  placeBundle(join(root, 'staged'), join(root, 'dist'), 'atmo');
  expect(readdirSync(join(root, 'dist'))).toEqual(['atmo.mjs']);
});

test('a program is stale when it is missing, or when a file below a source is newer', () => {
  const sources = [join(root, 'src'), write('package.json', 3)];
  write('src/core/ids.ts', 3);
  expect(isOlderThan(join(root, 'dist/atmo.mjs'), sources)).toBe(true);
  const program = write('dist/atmo.mjs', 2);
  expect(isOlderThan(program, sources)).toBe(false);
  write('src/core/ids.ts', 1);
  expect(isOlderThan(program, sources)).toBe(true);
});
