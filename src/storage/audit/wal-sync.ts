import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from '../../core/clock.ts';
import { toStorageError } from '../storage-error.ts';

interface WalSyncOptions {
  readonly clock: Clock;
  readonly path: string;
  /** Commits the rows that are to be synced. Throws STORAGE_FAILED if the disk refuses. */
  readonly commit: () => void;
  /** Called for the first of several consecutive failures of background syncs. */
  readonly onFailure: (error: unknown) => void;
}

/** Delay of a sync; with the time of the sync itself, a row is on the disk within 250 ms. */
const SOON_MS = 200;

/**
 * Syncs the write-ahead log of an open database in the background; SQLite with synchronous FULL would block the event loop at each commit.
 * The log stays the same file as long as the database is open.
 */
export class WalSync implements AsyncDisposable {
  readonly #options: WalSyncOptions;
  #handle: Promise<FileHandle> | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isFailing = false;

  constructor(options: WalSyncOptions) {
    this.#options = options;
  }

  /** Syncs all current rows within 250 ms. */
  soon(): void {
    this.#cancelTimer ??= this.#options.clock.after(SOON_MS, () => {
      this.#cancelTimer = undefined;
      this.now().catch((error: unknown) => {
        if (!this.#isFailing) this.#options.onFailure(error);
        this.#isFailing = true;
      });
    });
  }

  /** Resolves when all rows from before this call are on the disk. Rejects with STORAGE_FAILED if the disk refuses. */
  now(): Promise<void> {
    // A running sync may have begun before the last commit, so a second sync follows it.
    if (!this.#running) return this.#begin();
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  /** Waits for the running sync and closes the file; closing the database syncs the remaining rows. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    await this.#next?.catch(() => {});
    await this.#running?.catch(() => {});
    const handle = await this.#handle?.catch(() => undefined);
    this.#handle = undefined;
    await handle?.close();
  }

  #begin(): Promise<void> {
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #sync(): Promise<void> {
    this.#options.commit();
    const path = `${this.#options.path}-wal`;
    try {
      this.#handle ??= open(path, 'r');
      await (await this.#handle).datasync();
      this.#isFailing = false;
    } catch (error) {
      this.#handle = undefined;
      throw toStorageError(error, path);
    }
  }
}
