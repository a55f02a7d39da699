import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { RunProgress } from '../agent-store.ts';

/** Largest number of steps and decisions (of `choose` and of `while`) in one run, each repetition counted. */
const MAX_DONE = 500;
/** Shortest wait, in milliseconds, for which the progress of a run is written: a run in a shorter one is given up at a restart, as in a call. */
const LEAST_SAVED_MS = 30_000;

/** Writes of progress that one automation may make at once, and how soon it may make another one: 240 an hour. */
const MOST_SAVES = 60;
const SAVE_EVERY_MS = 15_000;

/**
 * Bounds the writes of progress of one automation, over all its runs: a write blocks the hub for a moment, and many of them wear the card. A run
 * that waits beyond it is given up at a restart.
 */
export class SaveBudget {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #left = MOST_SAVES;
  #countedMs: number;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#countedMs = clock.monotonic();
  }

  /** Takes one write. Returns false if none is left. */
  take(): boolean {
    const nowMs = this.#clock.monotonic();
    this.#left = Math.min(MOST_SAVES, this.#left + (nowMs - this.#countedMs) / SAVE_EVERY_MS);
    this.#countedMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/** A wait of a run, which a restart of the hub may have interrupted. */
export interface LoggedWait {
  /** Milliseconds since 1970. */
  readonly dueMs: number;
  /** True if the wait began before the last start of the hub. */
  readonly isResumed: boolean;
}

/** A step that waits. */
export interface RunWait {
  /** Its place, such as `1/options/0/2`. */
  readonly path: string;
  /** When its wait ends at the latest, milliseconds since 1970. */
  readonly dueMs: number;
  /** True for a call that waits for an approval. */
  readonly isCall?: true;
}

interface RunLogPorts {
  save(progress: RunProgress | undefined): void;
  readonly budget: SaveBudget;
}

/**
 * Logs how far a run got, so that it goes on after a restart of the hub if it only waits. What is on the disk is the progress of a run that
 * waits, or nothing while one of its calls is under way: the outcome of that call would not be known after a crash. Writes to the disk block the
 * hub and wear the card, so that all changes of one turn of the event loop are one write, and short waits alone are none.
 */
export class RunLog {
  readonly #save: RunLogPorts['save'];
  readonly #budget: SaveBudget;
  readonly #done: Map<string, Json>;
  readonly #waits: Map<string, number>;
  readonly #resumed: ReadonlySet<string>;
  #calls = 0;
  #isClosed = false;
  #isSaved: boolean;
  /** Long waits that have begun and not ended. */
  readonly #long = new Set<string>();
  #scheduled: NodeJS.Immediate | undefined;

  /** `save` writes to the disk. It throws STORAGE_FAILED only if it cannot write that the run does more than wait. */
  constructor({ save, budget }: RunLogPorts, progress: RunProgress | undefined) {
    this.#save = save;
    this.#budget = budget;
    this.#done = new Map(Object.entries(progress?.done ?? {}));
    this.#waits = new Map(Object.entries(progress?.waits ?? {}));
    this.#resumed = new Set(this.#waits.keys());
    for (const path of this.#resumed) this.#long.add(path);
    this.#isSaved = progress !== undefined;
  }

  /** Returns the waits that have begun and not ended. */
  waits(): readonly RunWait[] {
    return [...this.#waits].map(([path, dueMs]) => ({ path, dueMs }));
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
      this.#schedule();
    }
  }

  /** Begins a wait of `lengthMs`, or returns the one that began before a restart. */
  beginWait(path: string, { nowMs, lengthMs }: { readonly nowMs: number; readonly lengthMs: number }): LoggedWait {
    const known = this.#waits.get(path);
    if (known !== undefined) return { dueMs: known, isResumed: this.#resumed.has(path) };
    const dueMs = nowMs + lengthMs;
    this.#waits.set(path, dueMs);
    if (lengthMs >= LEAST_SAVED_MS) {
      this.#long.add(path);
      this.#schedule();
    }
    return { dueMs, isResumed: false };
  }

  endWait(path: string, result: Json): void {
    this.#waits.delete(path);
    this.#note(path, result);
    if (this.#long.delete(path)) this.#schedule();
  }

  /** Writes now what would be written at the end of this turn. */
  flush(): void {
    if (this.#scheduled === undefined) return;
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    this.#saveIfWaiting();
  }

  /** Ends the writing. What is on the disk then stays, so that a run that waited goes on after a restart. */
  close(): void {
    this.#isClosed = true;
  }

  #note(path: string, result: Json): void {
    if (this.#done.size >= MAX_DONE)
      throw new AtmoError('RESOURCE_EXCEEDED', `The run did ${MAX_DONE} steps and decisions, which is the most for one run`);
    this.#done.set(path, result);
  }

  #schedule(): void {
    this.#scheduled ??= setImmediate(() => this.flush());
  }

  #saveIfWaiting(): void {
    if (this.#isClosed || this.#calls > 0 || this.#waits.size === 0) return;
    if (this.#long.size === 0 && !this.#isSaved) return;
    if (this.#budget.take()) {
      this.#save({ done: Object.fromEntries(this.#done), waits: Object.fromEntries(this.#waits) });
      this.#isSaved = true;
    } else if (this.#isSaved) {
      // What was written before is not true any more.
      this.#save(undefined);
      this.#isSaved = false;
    }
  }
}
