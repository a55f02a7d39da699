import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from '../../core/clock.ts';
import { toStorageError } from '../storage-error.ts';

interface WalSyncParts {
  readonly clock: Clock;
  /** Path of the database; its log lies beside it. */
  readonly path: string;
  /** Commits what is to be synced and is not committed yet. Throws STORAGE_FAILED. */
  readonly commit: () => void;
  /** Hears of the first of several syncs that nobody waits for and that fail. */
  readonly onFailure: (error: unknown) => void;
}

/** A sync takes time itself: what was committed is on the disk within 250 ms. */
const SOON_MS = 200;

/**
 * Brings the write-ahead log of an open database onto the disk beside the event loop, where SQLite with synchronous FULL
 * would stop it for each commit. The log stays the same file as long as the database is open.
 */
export class WalSync implements AsyncDisposable {
  readonly #parts: WalSyncParts;
  #handle: Promise<FileHandle> | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isFailing = false;

  constructor(parts: WalSyncParts) {
    this.#parts = parts;
  }

  /** There is something new: it is on the disk within 250 ms. */
  soon(): void {
    this.#cancelTimer ??= this.#parts.clock.after(SOON_MS, () => {
      this.#cancelTimer = undefined;
      this.now().catch((error: unknown) => this.#tell(error));
    });
  }

  /** Resolves when all that there was before this call is on the disk. Throws STORAGE_FAILED. */
  now(): Promise<void> {
    // A sync that is under way may have begun before the last commit.
    if (!this.#running) return this.#begin();
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  /** Waits for what is under way and lets go of the file; closing the database brings the rest onto the disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    await this.#next?.catch(() => {});
    await this.#running?.catch(() => {});
    const handle = await this.#handle?.catch(() => undefined);
    this.#handle = undefined;
    await handle?.close();
  }

  #tell(error: unknown): void {
    if (!this.#isFailing) this.#parts.onFailure(error);
    this.#isFailing = true;
  }

  #begin(): Promise<void> {
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #sync(): Promise<void> {
    this.#parts.commit();
    const path = `${this.#parts.path}-wal`;
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
