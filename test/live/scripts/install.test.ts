import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const INSTALL_LIMIT_MS = 180_000;
const prefix = mkdtempSync(join(tmpdir(), 'atmo-install-'));
afterAll(() => rmSync(prefix, { recursive: true }));

const at = (path: string) => join(prefix, path);
const install = (...args: string[]) => execFileSync(join(ROOT, 'scripts/install'), args, { encoding: 'utf8', stdio: 'pipe' });
const tree = () => readdirSync(prefix, { recursive: true, encoding: 'utf8' }).sort();

describe('install', () => {
  beforeAll(() => {
    mkdirSync(at('usr/lib/atmosphere-edge/dist'), { recursive: true });
    writeFileSync(at('usr/lib/atmosphere-edge/dist/chunk-of-an-older-release.mjs'), '');
    mkdirSync(at('var/lib/atmosphere-edge'), { recursive: true });
    writeFileSync(at('var/lib/atmosphere-edge/fabric'), 'keys');
    install('--prefix', prefix);
  }, INSTALL_LIMIT_MS);

  test('a dry run names the steps and changes nothing', () => {
    const before = tree();
    expect(install('--dry-run', '--prefix', prefix)).toContain(`would run: dpkg-deb --extract`);
    expect(install('--dry-run')).toContain('would run: apt-get install --yes --reinstall');
    expect(install('--dry-run', '--uninstall')).toContain('would run: apt-get remove --yes atmosphere-edge');
    expect(tree()).toEqual(before);
  });

  test('unpacks a program that runs without the checkout and replaces an older one, beside a state that stays', () => {
    expect(existsSync(at('usr/lib/atmosphere-edge/dist/chunk-of-an-older-release.mjs'))).toBe(false);
    expect(readFileSync(at('var/lib/atmosphere-edge/fabric'), 'utf8')).toBe('keys');
    expect(execFileSync(at('usr/lib/atmosphere-edge/bin/node'), ['--version'], { encoding: 'utf8' }).trim()).toBe(process.version);
    const help = spawnSync(at('usr/bin/atmo'), ['--help'], { encoding: 'utf8', env: {}, cwd: '/' });
    expect(help.stderr + help.stdout).toContain('run a hub in the foreground');
    expect(help.status).toBe(0);
  });

  test('every file of the program can be read by the service, which is not its owner', () => {
    const files = tree().filter((path) => path.startsWith('usr/lib/atmosphere-edge/') && statSync(at(path)).isFile());
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((path) => (statSync(at(path)).mode & 0o044) !== 0o044)).toEqual([]);
  });

  test('--help prints the usage and succeeds', () => {
    expect(install('--help')).toContain('--uninstall');
  });

  test('an unknown option prints the usage and exits 2', () => {
    const { status, stderr } = spawnSync(join(ROOT, 'scripts/install'), ['--bogus'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stderr).toContain('unknown option --bogus');
    expect(stderr).toContain('--uninstall');
  });
});
