import type { Clock } from '../../../core/time/clock.ts';

const LONGEST_MS = 3_600_000;

/** Asks at once, after one second, then ever more seldom up to once an hour (RFC 6762 5.2). */
export class QuerySchedule {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ask: () => void;
  #cancel: (() => void) | undefined;

  constructor(parts: { readonly clock: Clock; readonly random: () => number; readonly ask: () => void }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#ask = parts.ask;
  }

  /** Begins, or begins anew; many hubs may start at the same moment. */
  restart(): void {
    this.#next(20 + 100 * this.#random(), 1_000);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #next(delayMs: number, followingMs: number): void {
    this.stop();
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#next(followingMs, Math.min(followingMs * 2, LONGEST_MS));
      this.#ask();
    });
  }
}
