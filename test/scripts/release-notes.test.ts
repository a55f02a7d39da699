import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { changesOf } from '../../scripts/package/release-notes.ts';
import { withDirectory } from '../cli/cli-fixture.ts';
import { writeKeyFile } from './key-file.ts';

const CHANGELOG = '# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - 2026-01-01\n\n### Added\n\n- first\n';

test('notes are what the changelog says about the version, else what is not released yet', () => {
  expect(changesOf(CHANGELOG, '0.1.0')).toBe('# atmosphere-edge 0.1.0\n\n### Added\n\n- first\n');
  expect(changesOf(CHANGELOG, '0.2.0')).toBe('# atmosphere-edge 0.2.0\n\n- new\n');
  expect(() => changesOf('# Changelog\n', '0.2.0')).toThrow('CHANGELOG.md says nothing about 0.2.0');
});

test('the changelog of the repository has notes for the version of package.json', () => {
  const read = (name: string): string => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');
  expect(changesOf(read('CHANGELOG.md'), JSON.parse(read('package.json')).version).length).toBeGreaterThan(100);
});

/** Makes a commit of all files in a repository. */
function commitAll(dir: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=Owner', '-c', 'user.email=owner@example.org', ...args]);
  git('add', '--all');
  git('commit', '--quiet', '--allow-empty', '--no-verify', '--message', 'work');
}

/** Calls a test with a repository that git of the release looks at in the place of the checkout, and with a function that builds. */
const withRepository = (work: (dir: string, release: (...args: string[]) => SpawnSyncReturns<string>) => void) =>
  withDirectory(async (dir) => {
    execFileSync('git', ['init', '--quiet', dir]);
    const env = { ...process.env, GIT_DIR: join(dir, '.git'), GIT_WORK_TREE: dir, SOURCE_DATE_EPOCH: '1767225600' };
    commitAll(dir);
    work(dir, (...args) =>
      spawnSync(process.execPath, [join(ROOT, 'scripts/release.ts'), '--outdir', join(dir, '.git/made'), ...args], {
        env,
        encoding: 'utf8',
      }),
    );
  });

test('a release is built from a commit alone, and with --try from a checkout with a new file, too', () =>
  withRepository((dir, release) => {
    writeFileSync(join(dir, 'new.ts'), '');
    execFileSync('git', ['-C', dir, 'config', 'status.showUntrackedFiles', 'no']);
    expect(release('--step', 'notes')).toMatchObject({ status: 1, stderr: expect.stringMatching(/built from a commit[\s\S]*new\.ts/) });
    expect(release('--step', 'notes', '--try')).toMatchObject({ status: 0, stderr: '' });
    writeFileSync(join(dir, '.git/info/exclude'), 'new.ts\n');
    expect(release('--step', 'notes')).toMatchObject({ status: 0, stderr: '' });
  }));

test(
  'a release signs what its own steps made from this commit, and names a file that they did not make',
  () =>
    withRepository((dir, release) => {
      const sums = ['--step', 'sums', '--key', writeKeyFile(join(dir, '.git/key.asc'))];
      const refused = (name: string) => ({ status: 1, stderr: expect.stringContaining(`${name} is not signed`) });
      expect(release('--step', 'notes', '--try')).toMatchObject({ status: 0 });
      expect(release(...sums)).toMatchObject(refused('RELEASE-NOTES.md'));
      expect(release('--step', 'notes', ...sums)).toMatchObject({ status: 0, stderr: '' });
      expect(readFileSync(join(dir, '.git/made/SHA256SUMS'), 'utf8')).toContain('RELEASE-NOTES.md');
      writeFileSync(join(dir, '.git/made/evil.deb'), '');
      expect(release(...sums)).toMatchObject(refused('evil.deb'));
      rmSync(join(dir, '.git/made/evil.deb'));
      commitAll(dir);
      expect(release(...sums)).toMatchObject(refused('RELEASE-NOTES.md'));
    }),
  60_000,
);
