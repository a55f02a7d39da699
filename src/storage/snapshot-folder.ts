import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import { syncPath } from '../core/files/file-system.ts';
import type { FileMark } from '../core/storage/key-value-store.ts';
import { quickCheck } from './checked-database.ts';

/** One copy of a database. */
export interface Snapshot {
  readonly path: string;
  readonly takenMs: number;
}

type Measure = (database: DatabaseSync) => FileMark;

const PAGES_PER_STEP = 1000;
/** Maximum number of attempts to copy. An attempt fails if this thread is in a transaction, which ends within one event-loop turn. */
const TRIES = 10;
/** Value of `errcode` (SQLITE_OK) in the error that Node.js throws if the database is busy. */
const NO_ERROR = 0;

/** Manages the copies of one database, named `<database>.<time>.snapshot`. A copy gets this name when it is complete and synced. */
export class SnapshotFolder {
  readonly #directory: string;
  readonly #prefix: string;
  readonly #kept: number;

  constructor(directory: string, databasePath: string, kept: number) {
    this.#directory = directory;
    this.#prefix = `${basename(databasePath)}.`;
    this.#kept = kept;
  }

  /** Returns the copies, newest first; none if the folder does not exist. */
  list(): readonly Snapshot[] {
    if (!statSync(this.#directory, { throwIfNoEntry: false })?.isDirectory()) return [];
    const names = readdirSync(this.#directory, { encoding: 'utf8' }).filter(
      (name) => name.startsWith(this.#prefix) && name.endsWith('.snapshot'),
    );
    return names
      .map((name) => ({ path: join(this.#directory, name), takenMs: Number(name.slice(this.#prefix.length, -'.snapshot'.length)) }))
      .filter(({ takenMs }) => Number.isSafeInteger(takenMs))
      .sort((a, b) => b.takenMs - a.takenMs);
  }

  prepare(): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
  }

  /**
   * Copies an open database without blocking it, then deletes the oldest copies beyond the limit. Copies a thousand pages at a time,
   * because VACUUM INTO would block the event loop for the whole copy.
   */
  async take(database: DatabaseSync, nowMs: number): Promise<Snapshot> {
    // The newest copy must have the highest time, even if the clock has gone back, which happens on boards without a battery.
    const takenMs = Math.max(nowMs, (this.list()[0]?.takenMs ?? -1) + 1);
    const path = join(this.#directory, `${this.#prefix}${takenMs}.snapshot`);
    const partial = join(this.#directory, `${this.#prefix}partial`);
    try {
      removeDatabase(partial);
      await copy(database, partial);
      renameSync(partial, path);
      syncPath(this.#directory);
    } finally {
      // A partial copy is removed, because it would fill the disk.
      removeDatabase(partial);
    }
    for (const old of this.list().slice(this.#kept)) rmSync(old.path, { force: true });
    return { path, takenMs };
  }

  /** Copies a database before its format changes, to `<database>.format-<format>`; at the next change from the same format, anew. */
  keepFormat(database: DatabaseSync, format: number): void {
    const path = join(this.#directory, `${this.#prefix}format-${format}`);
    const partial = `${path}.partial`;
    rmSync(partial, { force: true });
    database.prepare('VACUUM INTO ?').run(partial);
    syncPath(partial);
    renameSync(partial, path);
    syncPath(this.#directory);
  }

  /** Returns the newest copy that passes quick_check and `measure`, with its generation and digest; undefined if no copy does. */
  newestSound(measure: Measure): (Snapshot & { readonly mark: FileMark }) | undefined {
    for (const snapshot of this.list()) {
      const mark = markOf(snapshot.path, measure);
      if (mark) return { ...snapshot, mark };
    }
    return undefined;
  }

  /** Copies a snapshot to the path of the database, where there must be no file. A crash never leaves a partial file at that path. */
  restore(snapshot: Snapshot, databasePath: string): void {
    const partial = `${databasePath}.partial`;
    copyFileSync(snapshot.path, partial);
    syncPath(partial);
    renameSync(partial, databasePath);
    syncPath(dirname(databasePath));
  }
}

/** Returns generation and digest of a copy, or undefined if it is damaged. */
function markOf(path: string, measure: Measure): FileMark | undefined {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    quickCheck(database, path);
    return measure(database);
  } catch {
    return undefined;
  }
}

/**
 * Copies a database, if needed in several attempts. The first step runs in another thread. If this thread is in a transaction meanwhile,
 * sqlite3_backup_step returns SQLITE_BUSY, and Node.js throws "not an error". Node.js itself retries only later steps.
 */
async function copy(database: DatabaseSync, path: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await backup(database, path, { rate: PAGES_PER_STEP });
      return;
    } catch (error) {
      const isBusy = error instanceof Error && 'errcode' in error && error.errcode === NO_ERROR;
      if (!isBusy) throw error;
      if (tries === TRIES)
        throw new AtmoError('STORAGE_FAILED', `${path} cannot be made: something else holds its database; try again later`);
    }
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}
