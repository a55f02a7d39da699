import { existsSync, renameSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isoTime } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { AtmoError } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import { setAsideUnlessFile, syncPath } from '../core/files/file-system.ts';
import type { HubProblems } from '../core/health.ts';
import type { JsonObject } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { FileAnchor, FileMark } from '../core/storage/key-value-store.ts';
import { type DatabaseOptions, inTransaction, openChecked } from './checked-database.ts';
import { type Snapshot, SnapshotFolder } from './snapshot-folder.ts';
import type { AnchoredFile, StateAnchors } from './state-anchors.ts';
import { causeOf, guardStorage, guardStorageAsync, reasonOf, storageProblem, toStorageError } from './storage-error.ts';

/** Shortest time in milliseconds from the start to the first snapshot. */
const FIRST_SNAPSHOT_MS = 60_000;

/**
 * Opens a database file, checks it and compares it with its anchor. A damaged file is renamed to `<name>.corrupt-<time>`, and the newest
 * sound snapshot replaces it. On a schedule, a snapshot is made if the file has changed. Every loss is logged, emitted as `hub.warning`,
 * and raised as a problem of the hub.
 */
export class SqliteFile implements Service {
  readonly #parts: FileParts;
  readonly #name: string;
  #opened: (Opened & { readonly statements: Map<string, StatementSync> }) | undefined;
  #cancelTimer: () => void = () => {};
  #running: Promise<unknown> = Promise.resolve();
  #changesInSnapshot = -1;
  #isRefusing = false;

  constructor(collaborators: StorageServices, options: SqliteFileOptions) {
    const folder = new SnapshotFolder(options.snapshots.directory, options.path, options.snapshots.kept);
    const { clock, logger, events, problems, fileAnchors } = collaborators;
    this.#parts = { clock, logger, events, problems, fileAnchors, options, folder, anchor: fileAnchors.of(options.anchor) };
    this.#name = basename(options.path);
  }

  /** Anchor of the file. The store that writes the file must report each new generation to the anchor. */
  get anchor(): FileAnchor {
    return this.#parts.anchor;
  }

  async start(): Promise<void> {
    if (this.#opened) return;
    const { options, folder, clock } = this.#parts;
    const found = guardStorage(options.path, () => {
      this.#prepareFolder();
      return new DatabaseOpening(this.#parts).open();
    });
    this.#opened = { ...found, statements: new Map() };
    const newest = folder.list()[0];
    const { everyMs } = options.snapshots;
    const waitMs = newest ? everyMs - Math.max(0, clock.now() - newest.takenMs) : 0;
    this.#schedule(Math.max(FIRST_SNAPSHOT_MS, waitMs));
  }

  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** How a faulty file was recovered; undefined if the file was sound or new. */
  get recovery(): Opened['recovery'] {
    return this.#opened?.recovery;
  }

  /** Runs `work` on the open database. Throws STORAGE_FAILED if the disk refuses, SHUTTING_DOWN if the database is not open. */
  use<Result>(work: (database: DatabaseSync) => Result): Result {
    const database = this.#opened?.database;
    if (!database) throw new AtmoError('SHUTTING_DOWN', `${this.#parts.options.path} is not open: the hub is starting or stopping`);
    return guardStorage(this.#parts.options.path, () => work(database));
  }

  /**
   * Returns a statement of the open database, which is prepared once: preparing takes SQLite longer than most reads. `sql` should have
   * values as parameters, since each text is kept.
   */
  statement(sql: string): StatementSync {
    const prepared = this.#opened?.statements.get(sql);
    if (prepared) return prepared;
    return this.use((database) => {
      const statement = database.prepare(sql);
      this.#opened?.statements.set(sql, statement);
      return statement;
    });
  }

  /** Runs work that writes, with the errors of `use`. While the disk refuses writes, the hub reports a problem. */
  write<Result>(work: (database: DatabaseSync) => Result): Result {
    try {
      const result = this.use(work);
      if (this.#isRefusing) this.#parts.problems.clear(`${this.#name} writing`);
      this.#isRefusing = false;
      return result;
    } catch (error) {
      const problem = storageProblem(error);
      if (problem !== undefined) this.#parts.problems.raise(`${this.#name} writing`, `${this.#name} cannot be written: ${problem}`);
      this.#isRefusing ||= problem !== undefined;
      throw error;
    }
  }

  /** Runs work that writes, like `write`, but in one transaction. */
  transaction<Result>(work: (database: DatabaseSync) => Result): Result {
    return this.write((database) => inTransaction(database, () => work(database)));
  }

  /** Copies the database now. Throws STORAGE_FAILED if the disk refuses. */
  async snapshot(): Promise<Snapshot> {
    const { folder, clock, options } = this.#parts;
    const task = this.#running.then(async () => {
      const changes = this.#changes();
      const taken = await this.use((database) => folder.take(database, clock.now()));
      this.#changesInSnapshot = changes;
      return taken;
    });
    this.#running = task.catch(() => {});
    return await guardStorageAsync(options.path, () => task);
  }

  /** Copies the database if it is open and has changed since the newest snapshot. A failure is only logged and emitted as `hub.warning`. */
  async snapshotIfChanged(): Promise<void> {
    const { path } = this.#parts.options;
    try {
      if (this.isOpen && this.#changes() !== this.#changesInSnapshot) await this.snapshot();
    } catch (error) {
      emitWarning(this.#parts, path, { warning: 'storage.snapshot_failed', path, reason: reasonOf(error) });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer();
    await this.#running;
    if (!this.#opened) return;
    this.#opened.database.close();
    this.#opened = undefined;
    // Closing the database has synced all commits, so the anchor is marked as synced.
    const mark = this.anchor.least();
    if (mark) this.anchor.synced(mark);
  }

  /** Creates the snapshot folder. If that fails, the hub works without copies of this database. */
  #prepareFolder(): void {
    const { folder, options, problems } = this.#parts;
    const path = options.snapshots.directory;
    try {
      folder.prepare();
    } catch (error) {
      const reason = String(toStorageError(error, path));
      emitWarning(this.#parts, options.path, { warning: 'storage.snapshots_not_kept', path, reason });
      problems.raise(`${this.#name} copies`, `No copies of ${this.#name} can be kept: ${reason}`);
    }
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer = this.#parts.clock.after(delayMs, () => {
      this.#schedule(this.#parts.options.snapshots.everyMs);
      void this.snapshotIfChanged();
    });
  }

  #changes(): number {
    return this.use((database) => Number(database.prepare('SELECT total_changes() AS changes').get()?.changes));
  }
}

/** The services that every part of the storage uses. */
export interface StorageServices extends Pick<HubContext, 'clock' | 'logger'> {
  readonly events: Pick<EventBus, 'emit'>;
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  readonly fileAnchors: Pick<StateAnchors, 'of'>;
}

interface SqliteFileOptions extends DatabaseOptions {
  readonly anchor: AnchoredFile;
  /** Returns generation and digest of an open database. Throws STORAGE_FAILED with cause `damaged` if its content was altered. */
  readonly measure: (database: DatabaseSync) => FileMark;
  readonly snapshots: { readonly directory: string; readonly everyMs: number; readonly kept: number };
  /** What to do if a lost file (missing, empty or damaged) has no sound snapshot: begin an empty file, or refuse to start. */
  readonly whenLost: 'start-anew' | 'refuse';
}

interface FileParts extends StorageServices {
  readonly options: SqliteFileOptions;
  readonly folder: SnapshotFolder;
  readonly anchor: FileAnchor;
}

interface Opened {
  readonly database: DatabaseSync;
  /** How the file was recovered if it was damaged, missing, emptied or older than its anchor; absent if it was sound or new. */
  readonly recovery?: 'restored' | 'begun-anew' | 'kept-older';
}

/** An opened database file without damage. */
interface Found {
  readonly database: DatabaseSync;
  readonly mark: FileMark;
}

const SIDE_FILES = ['-wal', '-shm', '-journal'] as const;

class DatabaseOpening {
  readonly #parts: FileParts;
  readonly #options: SqliteFileOptions;

  constructor(parts: FileParts) {
    this.#parts = parts;
    this.#options = parts.options;
  }

  /** Opens the file, or recovers a lost file. Throws STORAGE_FAILED if a lost file has no sound snapshot and `whenLost` is `refuse`. */
  open(): Opened {
    const { path } = this.#options;
    const expected = this.#parts.anchor.least();
    const wasThere = expected !== undefined || this.#parts.folder.list().length > 0;
    const sizeBytes = fileSize(path);
    // SQLite would treat an empty file as a new database, so an emptied file is recovered.
    if (!sizeBytes && wasThere) return this.#recover(sizeBytes === undefined ? 'is missing' : 'is empty');
    try {
      for (const suffix of SIDE_FILES) this.#freePlace(path + suffix);
      const found = this.#openFile();
      const loss = lossOf(found.mark, expected);
      if (loss === undefined) return this.#accept(found);
      if (loss.isOlder) return this.#openNewest(found, loss.fault);
      found.database.close();
      return this.#recover(loss.fault);
    } catch (error) {
      if (causeOf(error) !== 'damaged') throw error;
      return this.#recover(error instanceof AtmoError ? String(error.details.finding ?? 'is damaged') : 'is damaged');
    }
  }

  #openFile(): Found {
    const { path, measure } = this.#options;
    if (fileSize(path) === undefined && existsSync(path)) this.#freePlace(path);
    const isNew = !fileSize(path);
    const database = openChecked(this.#options, (open, format) => this.#keepBefore(open, format));
    try {
      // The new file is synced first, because it must be on the disk before its anchor is.
      if (isNew) for (const made of [path, dirname(path)]) syncPath(made);
      return { database, mark: guardStorage(path, () => measure(database)) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Keeps a copy of what must not be lost, as it was before a new version changed its format. */
  #keepBefore(database: DatabaseSync, format: number): void {
    if (this.#options.whenLost === 'refuse') this.#parts.folder.keepFormat(database, format);
  }

  #accept({ database, mark }: Found, recovery?: Opened['recovery']): Opened {
    const { anchor } = this.#parts;
    anchor.committed(mark);
    if (this.#options.synchronous === 'FULL') anchor.synced(mark);
    return recovery === undefined ? { database } : { database, recovery };
  }

  /** Accepts a file that is older than its anchor. If the newest sound snapshot is newer than the file, restores the snapshot instead. */
  #openNewest(found: Found, fault: string): Opened {
    const snapshot = this.#parts.folder.newestSound(this.#options.measure);
    if (snapshot && snapshot.mark.generation > found.mark.generation) {
      found.database.close();
      return this.#recover(fault);
    }
    this.#reportLoss('storage.database_outdated', fault, 'What was written last is lost');
    return this.#accept(found, 'kept-older');
  }

  #recover(fault: string): Opened {
    const { path, whenLost } = this.#options;
    const { folder } = this.#parts;
    const snapshot = folder.newestSound(this.#options.measure);
    if (!snapshot && whenLost === 'refuse') {
      throw new AtmoError(
        'STORAGE_FAILED',
        `${path} ${fault}, and none of its snapshots is sound. Put your own copy of the state directory back, or move it, its snapshots and the file "anchors" away to begin without what it held`,
        { path, cause: 'lost' },
      );
    }
    const setAside = this.#setAside();
    if (snapshot) folder.restore(snapshot, path);
    const meaning = snapshot ? 'What was written after the snapshot is lost' : 'There was no sound snapshot: the file begins empty';
    this.#reportLoss(snapshot ? 'storage.database_restored' : 'storage.database_lost', fault, meaning, {
      ...(setAside !== undefined && { setAside }),
      ...(snapshot && { snapshot: snapshot.path, snapshotTaken: isoTime(snapshot.takenMs) }),
    });
    return this.#accept(this.#openFile(), snapshot ? 'restored' : 'begun-anew');
  }

  #reportLoss(warning: string, fault: string, meaning: string, data: JsonObject = {}): void {
    const { path } = this.#options;
    emitWarning(this.#parts, path, { warning, path, fault, ...data, meaning });
    const from = typeof data.snapshotTaken === 'string' ? `; the copy of ${data.snapshotTaken} is in its place` : '';
    this.#parts.problems.raise(this.#options.anchor, `${this.#options.anchor} ${fault}${from}. ${meaning}`);
  }

  /** Renames the file and its side files. Otherwise SQLite would apply the old log to the restored file. */
  #setAside(): string | undefined {
    const { path } = this.#options;
    const target = `${path}.corrupt-${isoTime(this.#parts.clock.now()).replaceAll(':', '')}`;
    const present = ['', ...SIDE_FILES].filter((suffix) => existsSync(path + suffix));
    for (const suffix of present) renameSync(path + suffix, target + suffix);
    return present.length > 0 ? target : undefined;
  }

  /** Renames whatever has the path of a database file but is no file, such as a folder. */
  #freePlace(path: string): void {
    const aside = setAsideUnlessFile(path);
    if (aside === undefined) return;
    emitWarning(this.#parts, path, { warning: 'storage.path_set_aside', path, aside });
    this.#parts.problems.raise(path, `${basename(path)} was no file, and was set aside as ${basename(aside)}`);
  }
}

function emitWarning(
  { logger, events }: Pick<StorageServices, 'logger' | 'events'>,
  path: string,
  data: JsonObject & { readonly warning: string },
): void {
  logger.error(data.warning, data);
  events.emit('hub.warning', basename(path), data);
}

function fileSize(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
}

/** Compares a sound file with its anchor. Returns undefined if the file has lost nothing. */
function lossOf(found: FileMark, expected: FileMark | undefined): { readonly fault: string; readonly isOlder: boolean } | undefined {
  if (!expected || found.generation > expected.generation) return undefined;
  if (found.generation < expected.generation) {
    return { fault: `has lost its last ${expected.generation - found.generation} changes`, isOlder: true };
  }
  if (found.digest === expected.digest || found.digest === '' || expected.digest === '') return undefined;
  return { fault: 'does not hold what it held', isOlder: false };
}
