import { existsSync, renameSync } from 'node:fs';
import { basename } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import type { JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { Service } from '../core/service.ts';
import type { Clock } from '../core/time/clock.ts';
import { isoTime } from '../core/time/iso-time.ts';
import { type DatabaseForm, inTransaction, openChecked } from './checked-database.ts';
import { type Snapshot, SnapshotFolder } from './snapshot-folder.ts';
import { guardStorage, isDamage, toStorageError } from './storage-error.ts';

/** What every part of the journal works with. */
export interface JournalCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<EventBus, 'emit'>;
}

/** Where copies of a database go, how often one is made, and how many are kept. */
export interface SnapshotPlan {
  readonly directory: string;
  readonly everyMs: number;
  readonly kept: number;
}

/** Form of a database file and what keeps it safe. */
export interface SqliteFileOptions extends DatabaseForm {
  readonly snapshots: SnapshotPlan;
  /** For a damaged file without a sound snapshot: begin an empty one, or refuse to start. */
  readonly whenLost: 'start-anew' | 'refuse';
}

/** What a start did about a damaged or missing file. */
type Recovery = 'restored' | 'begun-anew';

/** A snapshot that is due at start waits for the start to be over. */
const FIRST_SNAPSHOT_MS = 60_000;

/**
 * One database file with its safety: checked at start, a damaged one set aside as `<name>.corrupt-<time>` and the
 * newest sound snapshot put in its place, copied on a schedule when something changed. Every loss is told in the log
 * and as the event `hub.warning`.
 */
export class SqliteFile implements Service {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #events: Pick<EventBus, 'emit'>;
  readonly #options: SqliteFileOptions;
  readonly #folder: SnapshotFolder;
  #database: DatabaseSync | undefined;
  #cancelTimer: () => void = () => {};
  #running: Promise<unknown> = Promise.resolve();
  #changesInSnapshot = -1;
  #recovery: Recovery | undefined;

  constructor({ clock, logger, events }: JournalCollaborators, options: SqliteFileOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#events = events;
    this.#options = options;
    this.#folder = new SnapshotFolder(options.snapshots.directory, options.path, options.snapshots.kept);
  }

  async start(): Promise<void> {
    if (this.#database) return;
    this.#database = guardStorage(this.#options.path, () => {
      this.#folder.prepare();
      return this.#openOrRecover();
    });
    const newest = this.#folder.list()[0];
    const { everyMs } = this.#options.snapshots;
    const waitMs = newest ? everyMs - Math.max(0, this.#clock.now() - newest.takenMs) : 0;
    this.#schedule(Math.max(FIRST_SNAPSHOT_MS, waitMs));
  }

  get isOpen(): boolean {
    return this.#database !== undefined;
  }

  /** Absent when the file was sound, or new. */
  get recovery(): Recovery | undefined {
    return this.#recovery;
  }

  /** Runs work on the open database. Throws STORAGE_FAILED when the disk refuses, SHUTTING_DOWN when it is not open. */
  use<Result>(work: (database: DatabaseSync) => Result): Result {
    const database = this.#database;
    if (!database) throw new AtmoError('SHUTTING_DOWN', `${this.#options.path} is not open: the hub is starting or stopping`);
    return guardStorage(this.#options.path, () => work(database));
  }

  /** Like `use`, in one transaction. */
  transaction<Result>(work: (database: DatabaseSync) => Result): Result {
    return this.use((database) => inTransaction(database, () => work(database)));
  }

  /** Copies the database now. Throws STORAGE_FAILED. */
  async snapshot(): Promise<Snapshot> {
    const task = this.#running.then(async () => {
      const changes = this.#changes();
      const taken = await this.use((database) => this.#folder.take(database, this.#clock.now()));
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
      this.#warn('snapshot_failed', { path: this.#options.path, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer();
    await this.#running;
    this.#database?.close();
    this.#database = undefined;
  }

  #openOrRecover(): DatabaseSync {
    const { path } = this.#options;
    if (!existsSync(path) && this.#folder.list().length === 0) return openChecked(this.#options);
    try {
      if (existsSync(path)) return openChecked(this.#options);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    return this.#recover();
  }

  #recover(): DatabaseSync {
    const { path, whenLost } = this.#options;
    const snapshot = this.#folder.newestSound();
    if (!snapshot && whenLost === 'refuse') {
      throw new AtmoError(
        'STORAGE_FAILED',
        `${path} is damaged or missing and none of its snapshots is sound. Put your own copy of the state directory back, or move it and its snapshots away to begin without what it held`,
        { path, cause: 'lost' },
      );
    }
    const setAside = this.#setAside();
    if (snapshot) this.#folder.restore(snapshot, path);
    this.#recovery = snapshot ? 'restored' : 'begun-anew';
    this.#warn(snapshot ? 'database_restored' : 'database_lost', {
      path,
      ...(setAside === undefined ? {} : { setAside }),
      ...(snapshot ? { snapshot: snapshot.path, snapshotTaken: isoTime(snapshot.takenMs) } : {}),
      meaning: snapshot ? 'What was written after the snapshot is lost' : 'There was no sound snapshot: the file begins empty',
    });
    return openChecked(this.#options);
  }

  /** A log left beside a restored file would be replayed into it, so the side files go with the file. */
  #setAside(): string | undefined {
    const { path } = this.#options;
    const target = `${path}.corrupt-${isoTime(this.#clock.now()).replaceAll(':', '')}`;
    const present = ['', '-wal', '-shm', '-journal'].filter((suffix) => existsSync(path + suffix));
    for (const suffix of present) renameSync(path + suffix, target + suffix);
    return present.length > 0 ? target : undefined;
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, () => {
      this.#schedule(this.#options.snapshots.everyMs);
      void this.snapshotIfChanged();
    });
  }

  #changes(): number {
    return this.use((database) => Number(database.prepare('SELECT total_changes() AS changes').get()?.changes));
  }

  #warn(warning: string, data: JsonObject): void {
    this.#logger.error(warning, data);
    this.#events.emit('hub.warning', basename(this.#options.path), { warning, ...data });
  }
}
