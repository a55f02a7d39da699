import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import type { Service } from '../core/service.ts';
import { finishRestore } from './archive/placed-restore.ts';
import { isInUse, toStorageError } from './storage-error.ts';

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

  /** Throws CONFLICT naming the other hub's process id, STORAGE_FAILED when the directory cannot be written. */
  async start(): Promise<void> {
    if (this.#database) return;
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(this.#path);
      hold(database);
      // Nobody may open half of a backup beside half of what was there before.
      finishRestore(this.#directory);
      this.#database = database;
    } catch (error) {
      const failure = database && isInUse(error) ? this.#conflict(database) : toStorageError(error, this.#path);
      database?.close();
      throw failure;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database?.close();
    this.#database = undefined;
  }

  #conflict(database: DatabaseSync): AtmoError {
    const pid = holder(database);
    return new AtmoError(
      'CONFLICT',
      `Another hub (${pid === undefined ? 'process unknown' : `process ${pid}`}) uses ${this.#directory}. Stop it, or give this one another ATMO_STATE_DIR`,
      { directory: this.#directory, ...(pid === undefined ? {} : { pid }) },
    );
  }
}

/** A reserved lock: others can still read the process id, none can take the lock. */
function hold(database: DatabaseSync): void {
  database.exec('PRAGMA busy_timeout = 0');
  database.exec('CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER NOT NULL)');
  database.prepare('INSERT OR REPLACE INTO holder VALUES (1, ?)').run(process.pid);
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
