import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BackupFile } from '../../../src/storage/backup/create-backup.ts';
import { FailingDisk } from '../../failing-disk.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'backup-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each(['a link of somebody else', 'a file that everybody reads'])('%s in its place is not written to', async (what) => {
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'precious');
  const file = join(folder, 'home.backup');
  if (what.startsWith('a link')) symlinkSync(victim, `${file}.partial`);
  else writeFileSync(`${file}.partial`, 'old', { mode: 0o666 });
  const backup = await BackupFile.open(file);
  await backup.write(Buffer.from('sealed'));
  await backup.commit();
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect(readFileSync(file, 'utf8')).toBe('sealed');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(existsSync(`${file}.partial`)).toBe(false);
});

test('counts once it and its name are on the disk, and not at all where the disk does not take it', async () => {
  const disk = new FailingDisk();
  await disk.install(import.meta.filename);
  const file = join(folder, 'home.backup');
  const backup = await BackupFile.open(file);
  await backup.write(Buffer.from('sealed'));
  disk.arm(0, 'killed');
  await backup.commit();
  disk.disarm();
  expect(disk.synced).toContain(folder);
  const refused = await BackupFile.open(`${file}-2`);
  await using handle = await open(file);
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync').mockRejectedValue(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }));
  await expect(refused.commit()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(sync).toHaveBeenCalledOnce();
  sync.mockRestore();
  await refused.drop();
  expect(readdirSync(folder)).toEqual(['home.backup']);
});

test('a file that is there stays', async () => {
  writeFileSync(join(folder, 'home.backup'), 'old');
  await expect(BackupFile.open(join(folder, 'home.backup'))).rejects.toMatchObject({ code: 'CONFLICT' });
});
