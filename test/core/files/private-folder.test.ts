import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makePrivateFolder } from '../../../src/core/files/file-system.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'private-folder-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('a folder and those above it are made for their user alone', () => {
  makePrivateFolder(join(dir, 'a/b/c'));
  for (const path of ['a', 'a/b', 'a/b/c']) expect(statSync(join(dir, path)).mode & 0o777).toBe(0o700);
});

test('one that is there stays as it is', () => {
  mkdirSync(join(dir, 'open'), { mode: 0o755 });
  makePrivateFolder(join(dir, 'open'));
  expect(statSync(join(dir, 'open')).mode & 0o777).toBe(0o755);
});

test('what is no folder, or where none can be made, is told', () => {
  writeFileSync(join(dir, 'file'), '');
  symlinkSync('nowhere', join(dir, 'link'));
  expect(() => makePrivateFolder(join(dir, 'file'))).toThrow('EEXIST');
  expect(() => makePrivateFolder(join(dir, 'link'))).toThrow('EEXIST');
  expect(() => makePrivateFolder(join(dir, 'file/below'))).toThrow('ENOTDIR');
  expect(() => makePrivateFolder('/proc/atmosphere-edge/state')).toThrow('ENOENT');
});
