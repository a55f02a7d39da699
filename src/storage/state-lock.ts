import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import { setAsideUnlessFile } from '../core/files/file-system.ts';
import type { Service } from '../core/lifecycle.ts';
import { finishRestore, removeUnpackedRestore } from './pending-restore.ts';
import { RESTORE_MARKER } from './state-directory.ts';
import { causeOf, guardStorage, isOfContent, toStorageError } from './storage-error.ts';

/**
 * Prevents two hubs from using one state directory. Keeps a write transaction open on `lock.db`. The kernel lock (fcntl) of that
 * transaction ends with the process, even after a crash. The stored process id is used only in the error message, so a reused id never
 * blocks a start. No other part of this process may open and close `lock.db`: if a process closes any descriptor of a file, POSIX releases
 * all locks of the process on this file.
 */
export class StateLock implements Service {
  readonly #directory: string;
  readonly #path: string;
  #database: DatabaseSync | undefined;

  constructor(directory: string) {
    this.#directory = directory;
    this.#path = join(directory, 'lock.db');
  }

  /**
   * Takes the lock. Throws CONFLICT with the other hub's process id if another hub holds the lock, STORAGE_FAILED if the directory cannot
   * be written. A damaged `lock.db` is created anew, because it contains no data that must be kept.
   */
  async start(): Promise<void> {
    if (this.#database) return;
    guardStorage(this.#path, () => setAsideUnlessFile(this.#path));
    const database = this.#lock('remake');
    try {
      // An interrupted restore is completed first, so that no module opens a mix of restored and earlier files.
      finishRestore(this.#directory);
      removeUnpackedRestore(this.#directory);
      this.#database = database;
    } catch (error) {
      database.close();
      throw toStorageError(error, this.#path);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database?.close();
    this.#database = undefined;
  }

  #lock(whenDamaged: 'remake' | 'refuse'): DatabaseSync {
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(this.#path);
      hold(database);
      return database;
    } catch (error) {
      if (database && causeOf(error) === 'in-use') throw this.#conflict(database);
      database?.close();
      if (!isOfContent(error) || whenDamaged === 'refuse') throw toStorageError(error, this.#path);
      for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(this.#path + suffix, { force: true });
      return this.#lock('refuse');
    }
  }

  #conflict(database: DatabaseSync): AtmoError {
    const pid = holder(database);
    database.close();
    return new AtmoError(
      'CONFLICT',
      `Another hub (${pid === undefined ? 'process unknown' : `process ${pid}`}) uses ${this.#directory}. Stop it, or give this one another ATMO_STATE_DIR`,
      { directory: this.#directory, ...(pid === undefined ? {} : { pid }) },
    );
  }
}

/**
 * Completes a restore that was interrupted while it moved files. Must be called before any file is read, because a hub reads its
 * configuration long before it takes the lock. Throws CONFLICT if another hub holds the lock, STORAGE_FAILED if the disk refuses.
 */
export async function finishInterruptedRestore(directory: string): Promise<void> {
  if (!existsSync(join(directory, RESTORE_MARKER))) return;
  await using lock = new StateLock(directory);
  await lock.start();
}

/** Takes SQLite's RESERVED lock. Other processes can then still read the process id, but cannot take the lock. */
function hold(database: DatabaseSync): void {
  database.exec('PRAGMA busy_timeout = 0');
  try {
    database.exec('CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER NOT NULL)');
    database.prepare('INSERT OR REPLACE INTO holder VALUES (1, ?)').run(process.pid);
  } catch (error) {
    // A full disk is ignored: the lock itself needs no disk space, so the hub can start.
    if (causeOf(error) !== 'full') throw error;
  }
  database.exec('BEGIN IMMEDIATE');
}

function holder(database: DatabaseSync): number | undefined {
  try {
    return Number(database.prepare('SELECT pid FROM holder').get()?.pid);
  } catch {
    // The other hub is starting for the first time and has not written its id yet.
    return undefined;
  }
}
