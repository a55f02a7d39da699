import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { RunProgress } from '../agent-store.ts';

/** Largest number of steps that one run does, each repetition counted. */
const MAX_DONE = 500;

/** A wait of a run, which a restart of the hub may have interrupted. */
export interface LoggedWait {
  /** Milliseconds since 1970. */
  readonly dueMs: number;
  /** True if the wait began before the last start of the hub. */
  readonly isResumed: boolean;
}

/**
 * Logs how far a run got, so that it goes on after a restart of the hub if it only waits. What is on the disk is the progress of a run that
 * waits, or nothing while one of its calls is under way: the outcome of that call would not be known after a crash.
 */
export class RunLog {
  readonly #save: (progress: RunProgress | undefined) => void;
  readonly #done: Map<string, Json>;
  readonly #waits: Map<string, number>;
  readonly #resumed: ReadonlySet<string>;
  #calls = 0;
  #isClosed = false;
  #isSaved: boolean;

  /** `save` writes to the disk, and throws STORAGE_FAILED if it cannot. */
  constructor(save: (progress: RunProgress | undefined) => void, progress: RunProgress | undefined) {
    this.#save = save;
    this.#done = new Map(Object.entries(progress?.done ?? {}));
    this.#waits = new Map(Object.entries(progress?.waits ?? {}));
    this.#resumed = new Set(this.#waits.keys());
    this.#isSaved = progress !== undefined;
  }

  /** Returns the result of a step that has ended; undefined if it has not. */
  resultOf(path: string): Json | undefined {
    return this.#done.get(path);
  }

  /** Returns the result of a step: that of the log, or else that of `decide`, which changes nothing. */
  decided<Result extends Json>(path: string, decide: () => Result): Result {
    const known = this.#done.get(path);
    if (known !== undefined) return known as Result;
    const result = decide();
    this.#note(path, result);
    return result;
  }

  /** Returns the result of a call: that of the log, or else that of `call`, which is made once even if the hub stops meanwhile. */
  async called(path: string, call: () => Promise<Json>): Promise<Json> {
    const known = this.#done.get(path);
    if (known !== undefined) return known;
    if (this.#isSaved) this.#save(undefined);
    this.#isSaved = false;
    this.#calls += 1;
    try {
      const result = await call();
      this.#note(path, result);
      return result;
    } finally {
      this.#calls -= 1;
      this.#saveIfWaiting();
    }
  }

  /** Begins a wait, or returns the one that began before a restart. */
  beginWait(path: string, dueMs: number): LoggedWait {
    const known = this.#waits.get(path);
    if (known !== undefined) return { dueMs: known, isResumed: this.#resumed.has(path) };
    this.#waits.set(path, dueMs);
    this.#saveIfWaiting();
    return { dueMs, isResumed: false };
  }

  endWait(path: string, result: Json): void {
    this.#waits.delete(path);
    this.#note(path, result);
    this.#saveIfWaiting();
  }

  /** Ends the writing. What is on the disk then stays, so that a run that waited goes on after a restart. */
  close(): void {
    this.#isClosed = true;
  }

  #note(path: string, result: Json): void {
    if (this.#done.size >= MAX_DONE)
      throw new AtmoError('RESOURCE_EXCEEDED', `The run did ${MAX_DONE} steps, which is the most for one run`);
    this.#done.set(path, result);
  }

  #saveIfWaiting(): void {
    if (this.#isClosed || this.#calls > 0 || this.#waits.size === 0) return;
    this.#save({ done: Object.fromEntries(this.#done), waits: Object.fromEntries(this.#waits) });
    this.#isSaved = true;
  }
}
