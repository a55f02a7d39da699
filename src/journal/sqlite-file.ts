import { basename } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import type { Service } from '../core/service.ts';
import type { FileAnchor } from '../core/storage/file-anchor.ts';
import { inTransaction } from './checked-database.ts';
import { DatabaseOpening, type JournalCollaborators, type Opened, type SqliteFileOptions, warnOf } from './database-opening.ts';
import { type Snapshot, SnapshotFolder } from './snapshot-folder.ts';
import { guardStorage, storageProblem, toStorageError } from './storage-error.ts';

/** A snapshot that is due at start waits for the start to be over. */
const FIRST_SNAPSHOT_MS = 60_000;

/**
 * One database file with its safety: checked at start and held against its anchor, a damaged one set aside as
 * `<name>.corrupt-<time>` and the newest sound snapshot put in its place, copied on a schedule when something changed. Every loss
 * is told in the log, as the event `hub.warning`, and as a problem of the hub.
 */
export class SqliteFile implements Service {
  readonly #collaborators: JournalCollaborators;
  readonly #options: SqliteFileOptions;
  readonly #folder: SnapshotFolder;
  /** Where the owner of the file says how far it is. */
  readonly anchor: FileAnchor;
  #opened: Opened | undefined;
  #cancelTimer: () => void = () => {};
  #running: Promise<unknown> = Promise.resolve();
  #changesInSnapshot = -1;
  #isRefusing = false;

  constructor(collaborators: JournalCollaborators, options: SqliteFileOptions) {
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
      warnOf(this.#collaborators, this.#options.path, { warning: 'snapshot_failed', path: this.#options.path, reason });
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
      warnOf(this.#collaborators, this.#options.path, { warning: 'snapshots_not_kept', path: this.#options.snapshots.directory, reason });
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
