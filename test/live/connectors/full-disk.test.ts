import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CHILD = join(import.meta.dirname, '../children/full-disk-files.ts');

test('a file that does not fit on the disk leaves the old one, and nothing else', () => {
  const home = mkdtempSync(join(tmpdir(), 'full-disk-'));
  try {
    for (const name of ['disk', 'state']) mkdirSync(join(home, name));
    const script = 'mount -t tmpfs -o size=256k none "$0" && exec "$1" "$2" "$0" "$3"';
    const line = ['--mount', 'sh', '-c', script, join(home, 'disk'), process.execPath, CHILD, join(home, 'state')];
    const told = execFileSync('unshare', line, { encoding: 'utf8', timeout: 60_000 });
    expect(JSON.parse(told)).toEqual({ code: 'STORAGE_FAILED', content: 'peas', names: ['list.txt'] });
  } finally {
    rmSync(home, { recursive: true });
  }
});
