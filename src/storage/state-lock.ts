import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import { setAsideUnlessFile } from '../core/files/file-system.ts';
import type { Service } from '../core/lifecycle.ts';
import { finishRestore, removeUnpackedRestore } from './pending-restore.ts';
import { RESTORE_MARKER } from './state-files.ts';
import { guardStorage, isFull, isInUse, isOfContent, toStorageError } from './storage-error.ts';

/**
 * Keeps a second hub off a state directory: an open write transaction on `lock.db`, which is a kernel lock (fcntl)
 * that ends with the process, however it ends. The process id inside only names the other hub in the message; nothing
 * is decided by it, so a reused id never blocks. Nobody else may open and close `lock.db` in this process: POSIX drops
 * a process's locks on a file with the first descriptor it closes.
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
   * Throws CONFLICT naming the other hub's process id, STORAGE_FAILED when the directory cannot be written. The file holds nothing: one
   * that is damaged is made anew.
   */
  async start(): Promise<void> {
    if (this.#database) return;
    guardStorage(this.#path, () => setAsideUnlessFile(this.#path));
    const database = this.#held(() => this.#held((error) => this.#refuse(error)));
    try {
      // Nobody may open half of a backup beside half of what was there before.
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

  /** `whenDamaged` gets the error of a file that is none of SQLite's; it is gone by then. */
  #held(whenDamaged: (error: unknown) => DatabaseSync): DatabaseSync {
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(this.#path);
      hold(database);
      return database;
    } catch (error) {
      if (database && isInUse(error)) throw this.#conflict(database);
      database?.close();
      if (!isOfContent(error)) return this.#refuse(error);
      for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(this.#path + suffix, { force: true });
      return whenDamaged(error);
    }
  }

  #refuse(error: unknown): never {
    throw toStorageError(error, this.#path);
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
 * Goes on with a restore that was interrupted while it put files in their places, before anything is read of them: the configuration is,
 * long before a hub holds the lock. CONFLICT, STORAGE_FAILED.
 */
export async function finishInterruptedRestore(directory: string): Promise<void> {
  if (!existsSync(join(directory, RESTORE_MARKER))) return;
  await using lock = new StateLock(directory);
  await lock.start();
}

/** A reserved lock: others can still read the process id, none can take the lock. */
function hold(database: DatabaseSync): void {
  database.exec('PRAGMA busy_timeout = 0');
  try {
    database.exec('CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER NOT NULL)');
    database.prepare('INSERT OR REPLACE INTO holder VALUES (1, ?)').run(process.pid);
  } catch (error) {
    // The lock itself needs no room: a full disk keeps no hub from its devices.
    if (!isFull(error)) throw error;
  }
  database.exec('BEGIN IMMEDIATE');
}

function holder(database: DatabaseSync): number | undefined {
  try {
    return Number(database.prepare('SELECT pid FROM holder').get()?.pid);
  } catch {
    // The other hub is at its first start and has not written its id yet.
    return undefined;
  }
}
