import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changesOf } from '../../scripts/package/release-notes.ts';

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
