import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { changesOf } from '../../scripts/package/release-notes.ts';
import { withDirectory } from '../cli/cli-fixture.ts';

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

test('a release is built from a commit alone, and with --try from a checkout with a new file, too', async () => {
  await withDirectory(async (dir) => {
    execFileSync('git', ['init', '--quiet', dir]);
    // git of the release looks at this repository in the place of the checkout.
    const env = { ...process.env, GIT_DIR: join(dir, '.git'), GIT_WORK_TREE: dir, SOURCE_DATE_EPOCH: '1767225600' };
    const release = (...args: string[]) =>
      spawnSync(process.execPath, [join(ROOT, 'scripts/release.ts'), '--step', 'notes', '--outdir', join(dir, '.git/made'), ...args], {
        env,
        encoding: 'utf8',
      });
    writeFileSync(join(dir, 'new.ts'), '');
    expect(release()).toMatchObject({ status: 1, stderr: expect.stringMatching(/built from a commit[\s\S]*new\.ts/) });
    expect(release('--try')).toMatchObject({ status: 0, stderr: '' });
    writeFileSync(join(dir, '.git/info/exclude'), 'new.ts\n');
    expect(release()).toMatchObject({ status: 0, stderr: '' });
  });
});
