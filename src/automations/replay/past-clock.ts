import type { Clock } from '../../core/clock.ts';

interface Timer {
  readonly dueMs: number;
  /** Timers that are due at the same moment end in the order in which they were started. */
  readonly number: number;
  readonly callback: () => void;
  isCancelled: boolean;
}

/** The clock of a replay. It stands still until `goTo` or `runNext` moves it forward. Timers end in the order in which they are due. */
export class PastClock implements Clock {
  #nowMs: number;
  #count = 0;
  /** A binary heap: each timer is due no later than the two after it. */
  readonly #timers: Timer[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), number: this.#count++, callback, isCancelled: false };
    this.#add(timer);
    return () => {
      timer.isCancelled = true;
    };
  }

  /** Returns when the next timer is due, milliseconds since 1970; Infinity if there is none. */
  nextDueMs(): number {
    while (this.#timers[0]?.isCancelled) this.#takeFirst();
    return this.#timers[0]?.dueMs ?? Infinity;
  }

  /** Goes on to the next timer and ends it. */
  runNext(): void {
    const timer = this.#takeFirst();
    if (!timer) return;
    this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
    if (!timer.isCancelled) timer.callback();
  }

  /** Goes on to a moment; no timer may be due before it. */
  goTo(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  #add(timer: Timer): void {
    const timers = this.#timers;
    let at = timers.push(timer) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(timer, timers[above])) break;
      this.#swap(at, above);
      at = above;
    }
  }

  #takeFirst(): Timer | undefined {
    const timers = this.#timers;
    const [first] = timers;
    const last = timers.pop();
    if (last && timers.length > 0) {
      timers[0] = last;
      this.#sink();
    }
    return first;
  }

  #sink(): void {
    const timers = this.#timers;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const next = isBefore(timers[right], timers[left]) ? right : left;
      if (!isBefore(timers[next], timers[at])) return;
      this.#swap(at, next);
      at = next;
    }
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#timers[a], this.#timers[b]];
    if (!one || !other) return;
    this.#timers[a] = other;
    this.#timers[b] = one;
  }
}

function isBefore(a: Timer | undefined, b: Timer | undefined): boolean {
  if (!a || !b) return a !== undefined;
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.number < b.number);
}
