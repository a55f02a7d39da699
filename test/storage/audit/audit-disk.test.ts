import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CHILD = join(import.meta.dirname, '../children/audit-full-disk.ts');
/** Mounts need a mount namespace of their own: as root, or where unprivileged user namespaces are allowed. */
const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0;

test.skipIf(!canMount)(
  'on a full disk a row is refused whole, the rows before it stay, and the journal goes on once there is room',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'atmo-audit-disk-'));
    try {
      const script = 'mount -t tmpfs -o size=1m,mode=700 tmpfs "$1" && exec "$2" "$3" "$1"';
      const run = spawnSync('unshare', ['-rm', 'sh', '-c', script, 'sh', directory, process.execPath, CHILD], { encoding: 'utf8' });
      expect(run.stderr).toBe('');
      const seen = JSON.parse(run.stdout);
      expect(seen).toMatchObject({
        refused: 5,
        refusal: 'STORAGE_FAILED full',
        intact: true,
        missing: { not_written: 5 },
        isStillIntact: true,
        missingAfterKill: { not_written: 5 },
        problemsWhileFull: expect.arrayContaining([expect.stringMatching(/^Calls are not written to the audit log: the disk is full/)]),
        problemsAfter: [],
      });
      expect(seen.acknowledged).toBeGreaterThan(50);
      expect(seen.kept).toBe(seen.acknowledged + 1);
      expect(seen.frontBytes).toBeGreaterThan(0);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
  30_000,
);
