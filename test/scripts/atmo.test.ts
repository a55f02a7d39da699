import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const SHIM = join(import.meta.dirname, '../../scripts/atmo');
let root: string;
const at = (path: string) => join(root, path);

function put(path: string, text: string, ageSeconds: number): void {
  mkdirSync(join(at(path), '..'), { recursive: true });
  writeFileSync(at(path), text);
  const time = Date.now() / 1000 - ageSeconds;
  utimesSync(at(path), time, time);
}

function atmo(program = 'scripts/atmo') {
  const { status, stdout, stderr } = spawnSync(at(program), ['a b', '--json'], { encoding: 'utf8', cwd: '/' });
  return { status, text: (stdout + stderr).trim() };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'atmo-shim-'));
  mkdirSync(at('scripts'));
  mkdirSync(at('node_modules/.bin'), { recursive: true });
  copyFileSync(SHIM, at('scripts/atmo'));
  symlinkSync(process.execPath, at('node_modules/.bin/node'));
  put('package.json', '{"type":"module"}', 100);
  put('src/main.ts', `console.log('sources', process.argv.slice(2).join('|'));`, 50);
});
afterEach(() => rmSync(root, { recursive: true }));

describe('scripts/atmo', () => {
  test('runs the sources of a checkout without a bundle, arguments untouched', () => {
    expect(atmo()).toEqual({ status: 0, text: 'sources a b|--json' });
  });

  test('runs the bundle when it is newer than the sources, and not when it is older', () => {
    put('dist/atmo.mjs', `console.log('bundle');`, 10);
    expect(atmo().text).toBe('bundle');
    put('src/room/file.ts', '', 5);
    expect(atmo().text).toBe('sources a b|--json');
  });

  test('works through a link and without sources, as it is installed', () => {
    rmSync(at('src'), { recursive: true });
    put('dist/atmo.mjs', `console.log('bundle');`, 10);
    symlinkSync(at('scripts/atmo'), at('atmo'));
    expect(atmo('atmo').text).toBe('bundle');
  });

  test('runs the version before while that is being installed again, as long as its files are there', () => {
    const program = 'usr/lib/atmosphere-edge';
    const kept = `${program}-previous/files${at(program)}`;
    const record = 'var/lib/atmosphere-edge-upgrade/record.json';
    for (const folder of [program, kept]) {
      put(`${folder}/dist/atmo.mjs`, `console.log('${folder === program ? 'new' : 'before'}', process.argv.slice(2).join('|'));`, 10);
      mkdirSync(at(`${folder}/bin`));
      symlinkSync(process.execPath, at(`${folder}/bin/node`));
      mkdirSync(at(`${folder}/scripts`));
      copyFileSync(SHIM, at(`${folder}/scripts/atmo`));
    }
    symlinkSync(at(`${program}/scripts/atmo`), at('atmo'));
    expect(atmo('atmo').text).toBe('new a b|--json');
    put(record, '{"step":"watching","from":"0.1.0","to":"0.2.0"}', 0);
    expect(atmo('atmo').text).toBe('new a b|--json');
    put(record, '{"step":"rolling-back","from":"0.1.0","to":"0.2.0"}', 0);
    expect(atmo('atmo').text).toBe('before a b|--json');
    rmSync(at(kept), { recursive: true });
    expect(atmo('atmo').text).toBe('new a b|--json');
  });

  test('says what to do when the pinned Node is missing', () => {
    rmSync(at('node_modules'), { recursive: true });
    expect(atmo()).toEqual({ status: 1, text: expect.stringContaining('scripts/setup') });
  });
});
