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
/** Each try competes with the transactions of this thread, which end within one turn of the event loop. */
const TRIES = 10;
/** `errcode` of SQLITE_OK. */
const NO_ERROR = 0;

/** The copies of one database, named `<database>.<time>.snapshot`; only complete, synced copies have such a name. */
export class SnapshotFolder {
  readonly #directory: string;
  readonly #prefix: string;
  readonly #kept: number;

  constructor(directory: string, databasePath: string, kept: number) {
    this.#directory = directory;
    this.#prefix = `${basename(databasePath)}.`;
    this.#kept = kept;
  }

  /** Newest first; none where there is no folder. */
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
   * Copies an open database without blocking it (steps of some thousand pages beside the event loop, where VACUUM INTO would block it
   * for the whole copy), then deletes the oldest copies above the limit.
   */
  async take(database: DatabaseSync, nowMs: number): Promise<Snapshot> {
    // The clock of a board without a battery may have been later before: the newest copy has to have the highest time.
    const takenMs = Math.max(nowMs, (this.list()[0]?.takenMs ?? -1) + 1);
    const path = join(this.#directory, `${this.#prefix}${takenMs}.snapshot`);
    const partial = join(this.#directory, `${this.#prefix}partial`);
    try {
      removeDatabase(partial);
      await copy(database, partial);
      renameSync(partial, path);
      syncPath(this.#directory);
    } finally {
      // A partial copy would fill the disk.
      removeDatabase(partial);
    }
    for (const old of this.list().slice(this.#kept)) rmSync(old.path, { force: true });
    return { path, takenMs };
  }

  /** The newest copy that quick_check and `measure` accept, with its progress. */
  newestSound(measure: Measure): (Snapshot & { readonly mark: FileMark }) | undefined {
    for (const snapshot of this.list()) {
      const mark = markOf(snapshot.path, measure);
      if (mark) return { ...snapshot, mark };
    }
    return undefined;
  }

  /** Copies a snapshot to the path of the database, where no file may be; after a crash there is still none. */
  restore(snapshot: Snapshot, databasePath: string): void {
    const partial = `${databasePath}.partial`;
    copyFileSync(snapshot.path, partial);
    syncPath(partial);
    renameSync(partial, databasePath);
    syncPath(dirname(databasePath));
  }
}

/** The progress of a copy; undefined for a damaged one. */
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
 * Copies a database. The first step, in another thread, is refused while this thread is within a transaction (SQLITE_BUSY of
 * sqlite3_backup_step), which Node reports as the error "not an error" of the copy; Node itself repeats only later steps.
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
