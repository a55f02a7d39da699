import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { backupCopyPath, type FileRepair, RecoverableFile } from '../../../src/core/files/recoverable-file.ts';

let directory: string;
let path: string;
let repairs: FileRepair[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atmo-kept-'));
  path = join(directory, 'hub.key');
  repairs = [];
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const file = () =>
  new RecoverableFile({ path, isWhole: (text) => text.startsWith('key '), onRepaired: (repair) => void repairs.push(repair) });

describe('a recoverable file', () => {
  test.each([
    ['emptied', 'is empty', () => truncateSync(path, 0)],
    ['cut', 'is not as it was written', () => truncateSync(path, 3)],
    ['changed to another whole text', 'is not as it was written', () => writeFileSync(path, 'key one')],
    ['deleted', 'is missing', () => rmSync(path)],
    ['replaced by a folder', 'was a folder', () => [rmSync(path), mkdirSync(path)]],
  ])('that was %s comes back from its copy, and that is told', (_what, found, damage) => {
    file().write('key one');
    file().write('key two');
    damage();
    expect(file().read()).toBe('key two');
    expect(repairs).toEqual([expect.objectContaining({ path, found })]);
    expect(readFileSync(path, 'utf8')).toBe('key two');
    expect(file().read()).toBe('key two');
    expect(repairs).toHaveLength(1);
  });

  test.each([
    ['deleted', () => rmSync(backupCopyPath(path))],
    ['emptied', () => truncateSync(backupCopyPath(path), 0)],
    ['damaged', () => writeFileSync(backupCopyPath(path), readFileSync(backupCopyPath(path), 'utf8').replace('key', 'kez'))],
    ['a folder', () => [rmSync(backupCopyPath(path)), mkdirSync(backupCopyPath(path))]],
  ])('of which the copy was %s gets another one', (_what, damage) => {
    file().write('key one');
    damage();
    expect(file().read()).toBe('key one');
    rmSync(path);
    expect(file().read()).toBe('key one');
  });

  test('of an older hub is taken as it is and gets a copy', () => {
    writeFileSync(path, 'key old');
    expect(file().read()).toBe('key old');
    rmSync(path);
    expect(file().read()).toBe('key old');
  });

  test('goes on with a write that a crash cut off, at any step, without a false alarm', () => {
    for (const [before, crash] of [
      [undefined, () => rmSync(path)],
      ['key one', () => writeFileSync(path, 'key one')],
      ['key one', () => {}],
    ] as const) {
      rmSync(path, { force: true });
      rmSync(backupCopyPath(path), { force: true });
      if (before !== undefined) file().write(before);
      const unfinished = copyDuring(() => file().write('key two'));
      crash();
      writeFileSync(backupCopyPath(path), unfinished);
      expect(file().read()).toBe('key two');
      expect(readFileSync(path, 'utf8')).toBe('key two');
    }
    expect(repairs).toEqual([]);
  });

  test.each([
    ['damaged', () => truncateSync(backupCopyPath(path), 5)],
    ['a folder', () => [rmSync(backupCopyPath(path)), mkdirSync(backupCopyPath(path))]],
  ])(
    'that is lost while its copy is %s is refused at each start, and a new one is made only where there never was one',
    (_what, damage) => {
      expect(file().read()).toBeUndefined();
      file().write('key one');
      rmSync(path);
      damage();
      for (let starts = 0; starts < 2; starts++) expect(() => file().read()).toThrow(/its copy .* is damaged/);
      file().remove();
      expect(file().read()).toBeUndefined();
    },
  );
});

/** The copy as it lies there while the file itself is being replaced. */
function copyDuring(write: () => void): string {
  // A folder in the way stops the write between the two.
  mkdirSync(`${path}.partial`);
  writeFileSync(`${path}.partial/x`, '');
  expect(write).toThrow();
  rmSync(`${path}.partial`, { recursive: true });
  const copy = readFileSync(backupCopyPath(path), 'utf8');
  file().read();
  return copy;
}
