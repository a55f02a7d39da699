import { chmodSync, copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { syncPath } from '../../core/files/file-system.ts';

/** Suffixes of the files of a SQLite database in WAL mode. */
export const SIDE_FILES = ['', '-wal', '-shm'] as const;

/**
 * Removes the lock files of matter.js from the folder of a node. The hub has its own lock. If the process id in a stale lock file is in use
 * again, matter.js does not start.
 */
export function removeLockFiles(folder: string): void {
  for (const file of ['matter.pid', 'matter.lock']) rmSync(join(folder, file), { recursive: true, force: true });
}

/** Copies a storage file, which matter.js may have open. After a power cut, the copy is whole or absent. Throws if the disk refuses. */
export function copyStorage(database: string, copy: string): void {
  const part = `${copy}.part`;
  try {
    rmSync(part, { force: true });
    using source = new DatabaseSync(database, { readOnly: true });
    source.prepare('VACUUM INTO ?').run(part);
    putInPlace(part, copy);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** Puts a copy in the place of a storage file, whose side files must be gone. After a power cut, the place has the old file or the copy. */
export function restoreStorage(copy: string, database: string): void {
  const part = `${database}.part`;
  copyFileSync(copy, part);
  putInPlace(part, database);
}

function putInPlace(part: string, place: string): void {
  chmodSync(part, 0o600);
  syncPath(part);
  renameSync(part, place);
}
