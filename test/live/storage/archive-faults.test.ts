import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CHILD = join(import.meta.dirname, '../../storage/children/archive-faults.ts');

test('a disk that fails at any step of a backup or a restore, or a kill, leaves the old or the new one whole, and says plainly which', () => {
  const { stdout, stderr } = spawnSync(process.execPath, [CHILD], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { counted, wrong } = JSON.parse(stdout);
  expect(wrong).toEqual([]);
  // Else what is injected has lost its hold on the file system.
  expect(counted.backup).toBeGreaterThan(10);
  expect(counted.restore).toBeGreaterThan(50);
}, 180_000);
