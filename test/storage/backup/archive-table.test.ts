import { expect, test } from 'vitest';
import { parseTable } from '../../../src/storage/backup/archive-content.ts';

const table = (...paths: readonly string[]) => {
  const files = paths.map((path) => ({ path, bytes: 1 }));
  return () => parseTable(JSON.stringify({ version: '1.0.0', hub: 'h', made_at: '2026-01-01T00:00:00Z', files }));
};

test.each([
  '../hub.key',
  'matter/../../x',
  '/etc/passwd',
  'a//b',
  'a/.',
  '',
  'a\0b',
  'restore.pending',
  'restore.new/hub.key',
  'lock.db',
  'lock.db-wal',
  'before-restore-x/hub.key',
])('a backup brings no file %j', (path) => {
  expect(table('hub.key', path)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});

test('a backup brings the files of a hub, each once', () => {
  expect(table('hub.key', 'matter/0/fabric', 'outside/etc/atmosphere-edge/config.yaml')().entries).toHaveLength(3);
  expect(table('hub.key', 'hub.key')).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});
