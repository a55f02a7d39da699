import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { finishRestore, moveRestoreIntoPlace, removeUnpackedRestore } from '../../src/storage/pending-restore.ts';
import { prepareStateDirectory } from '../../src/storage/state-directory.ts';
import { StateLock } from '../../src/storage/state-lock.ts';

const OLD = { 'hub.key': 'old key', 'state.db': 'old state', 'matter/fabric.json': 'old fabric', 'rules.yaml': 'old rules' };
const NEW = { 'hub.key': 'new key', 'state.db': 'new state', 'matter/fabric.json': 'new fabric', 'tls/ca.key': 'new authority' };
const ASIDE = 'before-restore-then';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atmo-restore-'));
  write(directory, OLD);
  write(join(directory, 'restore.new'), NEW);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

function read(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

/** All that a restore leaves, and nothing else. */
function expectPlaced(): void {
  const { [ASIDE]: _, ...names } = Object.fromEntries(readdirSync(directory).map((name) => [name, true]));
  const here = read(directory);
  for (const [path, text] of Object.entries(NEW)) expect(here[path]).toBe(text);
  expect(
    Object.keys(names)
      .filter((name) => !['snapshots'].includes(name) && !name.startsWith('lock.db'))
      .sort(),
  ).toEqual(['hub.key', 'matter', 'state.db', 'tls']);
  expect(read(join(directory, ASIDE))).toEqual(OLD);
}

test('what was unpacked takes the place of what was there, which lies aside', () => {
  expect(moveRestoreIntoPlace(directory, 'then')).toBe(ASIDE);
  expectPlaced();
});

test('a directory that was empty gets no folder aside', () => {
  for (const path of ['hub.key', 'state.db', 'matter', 'rules.yaml']) rmSync(join(directory, path), { recursive: true });
  expect(moveRestoreIntoPlace(directory, 'then')).toBeUndefined();
  expect(read(directory)).toEqual(NEW);
});

describe('after a power cut', () => {
  const OLD_NAMES = ['hub.key', 'matter', 'rules.yaml', 'state.db'];
  const NEW_NAMES = ['hub.key', 'matter', 'state.db', 'tls'];

  /** The state of the directory after so many steps of the restore. */
  function interruptedAfter(steps: number): void {
    const moved = Math.min(steps, OLD_NAMES.length);
    const placed = Math.max(0, steps - OLD_NAMES.length);
    writeFileSync(join(directory, 'restore.pending'), JSON.stringify({ step: placed > 0 ? 'place' : 'aside', aside: ASIDE }));
    mkdirSync(join(directory, ASIDE));
    for (const name of OLD_NAMES.slice(0, moved)) renameSync(join(directory, name), join(directory, ASIDE, name));
    for (const name of NEW_NAMES.slice(0, placed)) renameSync(join(directory, 'restore.new', name), join(directory, name));
  }

  test.each(Array.from({ length: OLD_NAMES.length + NEW_NAMES.length + 1 }, (_, steps) => steps))(
    'with %i files moved, the next start of a hub finishes the restore before it opens anything',
    async (steps) => {
      interruptedAfter(steps);
      prepareStateDirectory(directory, silentLogger);
      await using lock = new StateLock(directory);
      await lock.start();
      expectPlaced();
      finishRestore(directory);
      expectPlaced();
    },
  );
});

test('an unpacked restore that is not in force yet is dropped, one in force is not', () => {
  writeFileSync(join(directory, 'restore.pending'), JSON.stringify({ step: 'aside', aside: ASIDE }));
  removeUnpackedRestore(directory);
  expect(read(join(directory, 'restore.new'))).toEqual(NEW);
  rmSync(join(directory, 'restore.pending'));
  removeUnpackedRestore(directory);
  expect(existsSync(join(directory, 'restore.new'))).toBe(false);
  expect(read(directory)).toEqual(OLD);
});
