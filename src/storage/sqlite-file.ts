import { existsSync, renameSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type Clock, isoTime } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import { setAsideUnlessFile, syncPath } from '../core/files/file-system.ts';
import type { HubProblems } from '../core/health.ts';
import type { JsonObject } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { FileAnchor, FileMark } from '../core/storage/file-anchor.ts';
import { type DatabaseOptions, inTransaction, openChecked } from './checked-database.ts';
import { type Snapshot, SnapshotFolder } from './snapshot-folder.ts';
import type { AnchoredFile, StateAnchors } from './state-anchors.ts';
import { guardStorage, isDamage, storageProblem, toStorageError } from './storage-error.ts';

/** A snapshot that is due at start waits for the start to be over. */
const FIRST_SNAPSHOT_MS = 60_000;

/**
 * One database file with its safety: checked at start and held against its anchor, a damaged one set aside as
 * `<name>.corrupt-<time>` and the newest sound snapshot put in its place, copied on a schedule when something changed. Every loss
 * is told in the log, as the event `hub.warning`, and as a problem of the hub.
 */
export class SqliteFile implements Service {
  readonly #collaborators: StorageServices;
  readonly #options: SqliteFileOptions;
  readonly #folder: SnapshotFolder;
  /** Where the owner of the file says how far it is. */
  readonly anchor: FileAnchor;
  #opened: Opened | undefined;
  #cancelTimer: () => void = () => {};
  #running: Promise<unknown> = Promise.resolve();
  #changesInSnapshot = -1;
  #isRefusing = false;

  constructor(collaborators: StorageServices, options: SqliteFileOptions) {
    this.#collaborators = collaborators;
    this.#options = options;
    this.#folder = new SnapshotFolder(options.snapshots.directory, options.path, options.snapshots.kept);
    this.anchor = collaborators.fileAnchors.of(options.anchor);
  }

  async start(): Promise<void> {
    if (this.#opened) return;
    this.#opened = guardStorage(this.#options.path, () => {
      this.#prepareFolder();
      return new DatabaseOpening(this.#collaborators, this.#options, this.#folder).open();
    });
    const newest = this.#folder.list()[0];
    const { everyMs } = this.#options.snapshots;
    const waitMs = newest ? everyMs - Math.max(0, this.#collaborators.clock.now() - newest.takenMs) : 0;
    this.#schedule(Math.max(FIRST_SNAPSHOT_MS, waitMs));
  }

  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Absent when the file was sound, or new. */
  get recovery(): Opened['recovery'] {
    return this.#opened?.recovery;
  }

  /** Runs work on the open database. Throws STORAGE_FAILED when the disk refuses, SHUTTING_DOWN when it is not open. */
  use<Result>(work: (database: DatabaseSync) => Result): Result {
    const database = this.#opened?.database;
    if (!database) throw new AtmoError('SHUTTING_DOWN', `${this.#options.path} is not open: the hub is starting or stopping`);
    return guardStorage(this.#options.path, () => work(database));
  }

  /** Like `use`, for work that writes: a disk that refuses it is a problem of the hub until it takes a write again. */
  write<Result>(work: (database: DatabaseSync) => Result): Result {
    try {
      const result = this.use(work);
      if (this.#isRefusing) this.#collaborators.problems.clear(this.#writing);
      this.#isRefusing = false;
      return result;
    } catch (error) {
      const problem = storageProblem(error);
      if (problem !== undefined) this.#collaborators.problems.raise(this.#writing, `${this.#name} cannot be written: ${problem}`);
      this.#isRefusing ||= problem !== undefined;
      throw error;
    }
  }

  /** Like `write`, in one transaction. */
  transaction<Result>(work: (database: DatabaseSync) => Result): Result {
    return this.write((database) => inTransaction(database, () => work(database)));
  }

  /** Copies the database now. Throws STORAGE_FAILED. */
  async snapshot(): Promise<Snapshot> {
    const task = this.#running.then(async () => {
      const changes = this.#changes();
      const taken = await this.use((database) => this.#folder.take(database, this.#collaborators.clock.now()));
      this.#changesInSnapshot = changes;
      return taken;
    });
    this.#running = task.catch(() => {});
    try {
      return await task;
    } catch (error) {
      throw toStorageError(error, this.#options.path);
    }
  }

  /** Copies an open database of which the newest snapshot lacks something; a failure is a warning. */
  async snapshotIfChanged(): Promise<void> {
    try {
      if (this.isOpen && this.#changes() !== this.#changesInSnapshot) await this.snapshot();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      emitWarning(this.#collaborators, this.#options.path, { warning: 'snapshot_failed', path: this.#options.path, reason });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer();
    await this.#running;
    if (!this.#opened) return;
    this.#opened.database.close();
    this.#opened = undefined;
    // Closing brings everything onto the disk.
    const mark = this.anchor.least();
    if (mark) this.anchor.synced(mark);
  }

  get #name(): string {
    return basename(this.#options.path);
  }

  get #writing(): string {
    return `${this.#name} writing`;
  }

  /** A folder for copies that cannot be used costs the copies, not the hub. */
  #prepareFolder(): void {
    try {
      this.#folder.prepare();
    } catch (error) {
      const reason = String(toStorageError(error, this.#options.snapshots.directory));
      emitWarning(this.#collaborators, this.#options.path, {
        warning: 'snapshots_not_kept',
        path: this.#options.snapshots.directory,
        reason,
      });
      this.#collaborators.problems.raise(`${this.#name} copies`, `No copies of ${this.#name} can be kept: ${reason}`);
    }
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer = this.#collaborators.clock.after(delayMs, () => {
      this.#schedule(this.#options.snapshots.everyMs);
      void this.snapshotIfChanged();
    });
  }

  #changes(): number {
    return this.use((database) => Number(database.prepare('SELECT total_changes() AS changes').get()?.changes));
  }
}

/** What every part of the journal works with. */
export interface StorageServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<EventBus, 'emit'>;
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  /** Those of the same state directory. */
  readonly fileAnchors: Pick<StateAnchors, 'of'>;
}

/** Where copies of a database go, how often one is made, and how many are kept. */
export interface SnapshotPlan {
  readonly directory: string;
  readonly everyMs: number;
  readonly kept: number;
}

/** Form of a database file and what keeps it safe. */
interface SqliteFileOptions extends DatabaseOptions {
  readonly anchor: AnchoredFile;
  /** How far an open file or copy is. Throws STORAGE_FAILED with cause `damaged` when its content is not as it was written. */
  readonly measure: (database: DatabaseSync) => FileMark;
  readonly snapshots: SnapshotPlan;
  /** For a damaged file without a sound snapshot: begin an empty one, or refuse to start. */
  readonly whenLost: 'start-anew' | 'refuse';
}

/** What a start did about a file that was damaged, missing, emptied or older than it had been. */
type Recovery = 'restored' | 'begun-anew' | 'kept-older';

/** A database that a start goes on with. */
interface Opened {
  readonly database: DatabaseSync;
  /** Absent when the file was sound, or new. */
  readonly recovery?: Recovery;
}

/** A file that a start found and may use. */
interface Found {
  readonly database: DatabaseSync;
  readonly mark: FileMark;
}

const SIDE_FILES = ['-wal', '-shm', '-journal'] as const;

/** Finds what a start may go on with: the file itself, its newest sound copy, or an empty file. */
class DatabaseOpening {
  readonly #collaborators: StorageServices;
  readonly #options: SqliteFileOptions;
  readonly #folder: SnapshotFolder;
  readonly #anchor: FileAnchor;

  constructor(collaborators: StorageServices, options: SqliteFileOptions, folder: SnapshotFolder) {
    this.#collaborators = collaborators;
    this.#options = options;
    this.#folder = folder;
    this.#anchor = collaborators.fileAnchors.of(options.anchor);
  }

  /** STORAGE_FAILED when the file is lost and must not begin anew. */
  open(): Opened {
    const { path } = this.#options;
    const expected = this.#anchor.least();
    const wasThere = expected !== undefined || this.#folder.list().length > 0;
    const sizeBytes = fileSize(path);
    // SQLite would take an empty file for a new database.
    if (!sizeBytes && wasThere) return this.#recover(sizeBytes === undefined ? 'is missing' : 'is empty');
    try {
      for (const suffix of SIDE_FILES) this.#freePlace(path + suffix);
      const found = this.#openFile();
      const loss = lossOf(found.mark, expected);
      if (loss === undefined) return this.#accept(found);
      if (!loss.isOlder) {
        found.database.close();
        return this.#recover(loss.fault);
      }
      return this.#takeNewest(found, loss.fault);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return this.#recover(error instanceof AtmoError ? String(error.details.finding ?? 'is damaged') : 'is damaged');
    }
  }

  #openFile(): Found {
    const { path, measure } = this.#options;
    if (fileSize(path) === undefined && existsSync(path)) this.#freePlace(path);
    const isNew = !fileSize(path);
    const database = openChecked(this.#options);
    try {
      // Before its anchor says that it is there.
      if (isNew) for (const made of [path, dirname(path)]) syncPath(made);
      return { database, mark: guardStorage(path, () => measure(database)) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #accept({ database, mark }: Found, recovery?: Recovery): Opened {
    this.#anchor.committed(mark);
    if (this.#options.synchronous === 'FULL') this.#anchor.synced(mark);
    return recovery === undefined ? { database } : { database, recovery };
  }

  /** A file that is sound and older than it had been: itself or a copy, whatever is newer. */
  #takeNewest(found: Found, fault: string): Opened {
    const snapshot = this.#folder.newestSound(this.#options.measure);
    if (snapshot && snapshot.mark.generation > found.mark.generation) {
      found.database.close();
      return this.#recover(fault);
    }
    this.#tellLoss('database_older', fault, 'What was written last is lost');
    return this.#accept(found, 'kept-older');
  }

  #recover(fault: string): Opened {
    const { path, whenLost } = this.#options;
    const snapshot = this.#folder.newestSound(this.#options.measure);
    if (!snapshot && whenLost === 'refuse') {
      throw new AtmoError(
        'STORAGE_FAILED',
        `${path} ${fault}, and none of its snapshots is sound. Put your own copy of the state directory back, or move it, its snapshots and the file "anchors" away to begin without what it held`,
        { path, cause: 'lost' },
      );
    }
    const setAside = this.#setAside();
    if (snapshot) this.#folder.restore(snapshot, path);
    const meaning = snapshot ? 'What was written after the snapshot is lost' : 'There was no sound snapshot: the file begins empty';
    this.#tellLoss(snapshot ? 'database_restored' : 'database_lost', fault, meaning, {
      ...(setAside === undefined ? {} : { setAside }),
      ...(snapshot ? { snapshot: snapshot.path, snapshotTaken: isoTime(snapshot.takenMs) } : {}),
    });
    return this.#accept(this.#openFile(), snapshot ? 'restored' : 'begun-anew');
  }

  #tellLoss(warning: string, fault: string, meaning: string, data: JsonObject = {}): void {
    const { path } = this.#options;
    emitWarning(this.#collaborators, path, { warning, path, fault, ...data, meaning });
    const from = typeof data.snapshotTaken === 'string' ? `; the copy of ${data.snapshotTaken} is in its place` : '';
    this.#collaborators.problems.raise(this.#options.anchor, `${this.#options.anchor} ${fault}${from}. ${meaning}`);
  }

  /** A log left beside a restored file would be replayed into it, so the side files go with the file. */
  #setAside(): string | undefined {
    const { path } = this.#options;
    const target = `${path}.corrupt-${isoTime(this.#collaborators.clock.now()).replaceAll(':', '')}`;
    const present = ['', ...SIDE_FILES].filter((suffix) => existsSync(path + suffix));
    for (const suffix of present) renameSync(path + suffix, target + suffix);
    return present.length > 0 ? target : undefined;
  }

  /** A folder in the place of a file of SQLite's. */
  #freePlace(path: string): void {
    const aside = setAsideUnlessFile(path);
    if (aside === undefined) return;
    emitWarning(this.#collaborators, path, { warning: 'no_file_set_aside', path, aside });
    this.#collaborators.problems.raise(path, `${basename(path)} was no file, and was set aside as ${basename(aside)}`);
  }
}

/** Tells of a file in the log and as the event `hub.warning`. */
function emitWarning(
  { logger, events }: Pick<StorageServices, 'logger' | 'events'>,
  path: string,
  data: JsonObject & { readonly warning: string },
): void {
  logger.error(data.warning, data);
  events.emit('hub.warning', basename(path), data);
}

/** Undefined for what is no file. */
function fileSize(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
}

/** What is wrong with a file that is sound in itself; undefined when nothing is. */
function lossOf(found: FileMark, expected: FileMark | undefined): { readonly fault: string; readonly isOlder: boolean } | undefined {
  if (!expected || found.generation > expected.generation) return undefined;
  if (found.generation < expected.generation) {
    return { fault: `has lost its last ${expected.generation - found.generation} changes`, isOlder: true };
  }
  if (found.digest === expected.digest || found.digest === '' || expected.digest === '') return undefined;
  return { fault: 'does not hold what it held', isOlder: false };
}
