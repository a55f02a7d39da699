import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const CHECK = join(import.meta.dirname, '../../scripts/installed.mjs');
let root: string;

function lock(path: string, packages: Record<string, { version: string; optional?: boolean }>): void {
  writeFileSync(join(root, path), JSON.stringify({ packages }));
}

function check() {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/installed.mjs')], { encoding: 'utf8' });
  return { status, reason: stderr.trim() };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'atmo-installed-'));
  mkdirSync(join(root, 'scripts'));
  mkdirSync(join(root, 'node_modules/.bin'), { recursive: true });
  writeFileSync(join(root, 'node_modules/.bin/node'), '');
  copyFileSync(CHECK, join(root, 'scripts/installed.mjs'));
  lock('package-lock.json', {
    '': { version: '0.1.0' },
    'node_modules/a': { version: '1.0.0' },
    'node_modules/other-machine': { version: '1.0.0', optional: true },
  });
  lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.0' } });
});
afterEach(() => rmSync(root, { recursive: true }));

describe('installed packages', () => {
  test('are complete without the optional ones of other machines', () => {
    expect(check()).toEqual({ status: 0, reason: '' });
  });

  test('are missing in a fresh clone', () => {
    rmSync(join(root, 'node_modules'), { recursive: true });
    expect(check()).toEqual({ status: 1, reason: 'node_modules is missing' });
  });

  test('differ when the lock names another version', () => {
    lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '0.9.0' } });
    expect(check()).toEqual({ status: 1, reason: 'node_modules/a 1.0.0 is missing' });
  });

  test('differ when the lock dropped one', () => {
    lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0' } });
    expect(check()).toEqual({ status: 1, reason: 'node_modules/b 2.0.0 is not in the lock' });
  });

  test('lack the pinned Node on an unsupported machine', () => {
    rmSync(join(root, 'node_modules/.bin/node'));
    expect(check()).toEqual({ status: 1, reason: 'the pinned Node is missing' });
  });
});
