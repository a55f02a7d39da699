import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const CHILDREN = join(import.meta.dirname, 'children');
/** Mounts need a mount namespace of their own: as root, or where unprivileged user namespaces are allowed. */
const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atmo-disk-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a child on a small disk of its own, seen by nobody else, and answers the JSON it printed. */
function onSmallDisk(child: string, mount: string): unknown {
  const script = `mount -t tmpfs -o size=1m,mode=700 tmpfs "$1" && ${mount} && exec "$2" "$3" "$1"`;
  const run = spawnSync('unshare', ['-rm', 'sh', '-c', script, 'sh', directory, process.execPath, join(CHILDREN, child)], {
    encoding: 'utf8',
  });
  expect(run.stderr).toBe('');
  return JSON.parse(run.stdout);
}

describe.skipIf(!canMount)('on a disk of one megabyte', () => {
  test('a full disk refuses with the remedy, loses nothing acknowledged, and the store works on once there is room', () => {
    const seen = onSmallDisk('full-disk.ts', 'true') as Record<string, unknown> & { acknowledged: number };
    expect(seen).toMatchObject({
      write: expect.stringMatching(/^STORAGE_FAILED full: .*state\.db.*Free space/),
      snapshot: expect.stringMatching(/^STORAGE_FAILED full: /),
      leftovers: [],
      afterwards: 'none',
    });
    expect(seen.acknowledged).toBeGreaterThan(10);
    expect(seen.onFullDisk).toEqual({
      start: 'none',
      readable: seen.kept,
      write: expect.stringMatching(/^STORAGE_FAILED full/),
      problems: [expect.stringMatching(/^state\.db cannot be written: the disk is full/)],
      problemsAfter: [],
    });
    expect([seen.readable, seen.kept]).toEqual([seen.acknowledged, seen.acknowledged + 1]);
  });

  test('a disk mounted read-only is reported as not writable, by every operation', () => {
    expect(onSmallDisk('read-only-disk.ts', 'mount -o remount,ro "$1"')).toEqual({
      directory: 'STORAGE_FAILED not-writable',
      lock: 'STORAGE_FAILED not-writable',
      store: 'STORAGE_FAILED not-writable',
    });
  });
});
