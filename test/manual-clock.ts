import type { Clock } from '../src/core/clock.ts';

/** A clock that tests move by hand. */
export class ManualClock implements Clock {
  #nowMs: number;
  /** Milliseconds by which the wall clock was set forward. */
  #correctionMs = 0;
  #timers: { dueMs: number; callback: () => void }[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs + this.#correctionMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Number of timers that have not fired and were not cancelled. */
  get timers(): number {
    return this.#timers.length;
  }

  /** Sets the wall clock forward, or back. */
  correctBy(ms: number): void {
    this.#correctionMs += ms;
  }

  /** Forgets all timers, as a process does that is killed. */
  kill(): void {
    this.#timers = [];
  }

  /** Moves time on and runs what falls due, in order. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers.filter((timer) => timer.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (!next) break;
      this.#nowMs = next.dueMs;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.callback();
    }
    this.#nowMs = endMs;
  }
}

/** A clock of whole milliseconds, as that of the machine is; timers may fall due between them. */
export class WholeClock extends ManualClock {
  override now(): number {
    return Math.floor(super.now());
  }
}
