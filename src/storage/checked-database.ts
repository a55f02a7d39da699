import { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import { oncePerObject } from '../core/lifecycle.ts';
import { damagedError, guardStorage } from './storage-error.ts';

/** How a database file is opened. */
export interface DatabaseOptions {
  readonly path: string;
  /** FULL: a commit is on the disk when it returns. NORMAL: a power cut may lose the last commits, but never damages the file. */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** Size of a database page in bytes. It takes effect only for a new file. */
  readonly pageSizeBytes: number;
  /** When the write-ahead log has this number of pages, it is copied into the file. */
  readonly checkpointPages: number;
  /** Maximum file size in bytes, so that the file cannot fill an SD card. Writes beyond it fail with STORAGE_FAILED. */
  readonly maxBytes: number;
  /** SQL scripts; the script at index n brings a file from version n to n + 1. */
  readonly migrations: readonly string[];
}

/** The statements BEGIN and COMMIT. Each tool call commits twice, so they are compiled only once for each database. */
const bracketsOf = oncePerObject((database: DatabaseSync) => {
  return { begin: database.prepare('BEGIN IMMEDIATE'), commit: database.prepare('COMMIT') };
});

/**
 * Opens a database in WAL mode, checks it with quick_check and migrates it to the newest version. Throws STORAGE_FAILED if a step fails. If
 * the content of the file is the reason, `details.cause` is `damaged`.
 */
export function openChecked(form: DatabaseOptions): DatabaseSync {
  return guardStorage(form.path, () => {
    const database = new DatabaseSync(form.path);
    try {
      configure(database, form);
      quickCheck(database, form.path);
      migrate(database, form);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Throws STORAGE_FAILED with cause `damaged` if SQLite's quick_check finds a fault. */
export function quickCheck(database: DatabaseSync, path: string): void {
  const findings = database
    .prepare('PRAGMA quick_check(3)')
    .all()
    .map((row) => String(row.quick_check));
  if (findings.join() !== 'ok') throw damagedError(path, findings.join('; '));
}

/** Runs `work` in one transaction; rolls back if `work` throws. */
export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  const { begin, commit } = bracketsOf(database);
  begin.run();
  try {
    const result = work();
    commit.run();
    return result;
  } catch (error) {
    // After a full disk or an I/O error, SQLite itself has already rolled back.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function configure(database: DatabaseSync, form: DatabaseOptions): void {
  // With an exclusive lock SQLite needs no -shm file, which would also wear the SD card. Only one process uses the database anyway.
  database.exec(`PRAGMA page_size = ${form.pageSizeBytes}; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL`);
  database.exec(`PRAGMA synchronous = ${form.synchronous}; PRAGMA cache_size = -2000`);
  database.exec(`PRAGMA wal_autocheckpoint = ${form.checkpointPages}`);
  const pageSizeBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size);
  database.exec(`PRAGMA max_page_count = ${Math.ceil(form.maxBytes / pageSizeBytes)}`);
}

function migrate(database: DatabaseSync, { path, migrations }: DatabaseOptions): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version > migrations.length) {
    throw new AtmoError(
      'STORAGE_FAILED',
      `${path} was written by a newer atmosphere-edge (format ${version}, this one knows ${migrations.length}). Install that version again`,
      { path, cause: 'newer' },
    );
  }
  migrations.slice(version).forEach((script, index) => {
    inTransaction(database, () => database.exec(`${script}; PRAGMA user_version = ${version + index + 1}`));
  });
}
