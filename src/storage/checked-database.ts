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
  /** Size of the page cache in KiB; by default `DEFAULT_CACHE_KIB`. */
  readonly cacheKib?: number | undefined;
  /** When the write-ahead log has this number of pages, it is copied into the file. */
  readonly checkpointPages: number;
  /** Maximum file size in bytes, so that the file cannot fill an SD card. Writes beyond it fail with STORAGE_FAILED. */
  readonly maxBytes: number;
  /**
   * The migration at index n brings a file from format n to n + 1. A plain script is one of the first release: nobody goes back behind it.
   * Every later one carries its undo.
   */
  readonly migrations: readonly (string | Migration)[];
}

/** A migration that an earlier release, which does not know it, can take back. */
export interface Migration {
  /** SQL that brings a file to the next format. */
  readonly script: string;
  /** SQL that brings it back without losing what was written since. It is stored in the file, so that an earlier release finds it. */
  readonly undo: string;
}

/** Page cache of a database in KiB. */
const DEFAULT_CACHE_KIB = 2_000;

/** Is called with the open database and its format. */
export type BeforeMigration = (database: DatabaseSync, format: number) => void;

/** The statements BEGIN and COMMIT. Each tool call commits twice, so they are compiled only once for each database. */
const bracketsOf = oncePerObject((database: DatabaseSync) => {
  return { begin: database.prepare('BEGIN IMMEDIATE'), commit: database.prepare('COMMIT') };
});

/**
 * Opens a database in WAL mode, checks it with quick_check and brings it to the format of this version: forward, or back if a newer version
 * has written it and left the undo. Calls `beforeMigration` before a file with content gets a newer format. Throws STORAGE_FAILED if a step
 * fails. If the content of the file is the reason, `details.cause` is `damaged`.
 */
export function openChecked(form: DatabaseOptions, beforeMigration: BeforeMigration = () => undefined): DatabaseSync {
  return guardStorage(form.path, () => {
    const database = new DatabaseSync(form.path);
    try {
      configure(database, form);
      quickCheck(database, form.path);
      migrate(database, form, beforeMigration);
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
  database.exec(`PRAGMA synchronous = ${form.synchronous}; PRAGMA cache_size = -${form.cacheKib ?? DEFAULT_CACHE_KIB}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${form.checkpointPages}`);
  const pageSizeBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size);
  database.exec(`PRAGMA max_page_count = ${Math.ceil(form.maxBytes / pageSizeBytes)}`);
}

function migrate(database: DatabaseSync, form: DatabaseOptions, beforeMigration: BeforeMigration): void {
  const { migrations } = form;
  const format = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (format > migrations.length) goBack(database, form, format);
  if (format > 0 && format < migrations.length) beforeMigration(database, format);
  migrations.slice(format).forEach((migration, index) => {
    inTransaction(database, () => goForward(database, migration, format + index + 1));
  });
}

function goForward(database: DatabaseSync, migration: string | Migration, format: number): void {
  if (typeof migration === 'string') database.exec(migration);
  else {
    database.exec(`${migration.script}; CREATE TABLE IF NOT EXISTS undo (format INTEGER PRIMARY KEY, script TEXT NOT NULL)`);
    database.prepare('INSERT OR REPLACE INTO undo VALUES (?, ?)').run(format, migration.undo);
  }
  database.exec(`PRAGMA user_version = ${format}`);
}

/** Takes the migrations of a newer version back, the last one first. What was written since stays. */
function goBack(database: DatabaseSync, { path, migrations }: DatabaseOptions, format: number): void {
  const undos = undosAbove(database, migrations.length);
  if (undos.length !== format - migrations.length) {
    throw new AtmoError(
      'STORAGE_FAILED',
      `${path} was written by a newer atmosphere-edge (format ${format}, this one knows ${migrations.length}) that left no way back. Install that version again`,
      { path, cause: 'newer' },
    );
  }
  inTransaction(database, () => {
    for (const { format: undone, script } of undos) database.exec(`${script}; DELETE FROM undo WHERE format = ${undone}`);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}

function undosAbove(database: DatabaseSync, format: number): readonly { readonly format: number; readonly script: string }[] {
  const table = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'undo'").get();
  if (!table) return [];
  const rows = database.prepare('SELECT format, script FROM undo WHERE format > ? ORDER BY format DESC').all(format);
  return rows.map((row) => ({ format: Number(row.format), script: String(row.script) }));
}
