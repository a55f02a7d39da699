import type { Clock } from '../../core/clock.ts';

/** Share of the period by which a tick comes early or late: hubs that start together do not stay in step. */
const JITTER = 0.1;

/** Calls back about once in every period. */
export class Ticker {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #periodMs: number;
  #cancel: (() => void) | undefined;

  constructor({ clock, random = Math.random }: { readonly clock: Clock; readonly random?: (() => number) | undefined }, periodMs: number) {
    this.#clock = clock;
    this.#random = random;
    this.#periodMs = periodMs;
  }

  start(tick: () => void): void {
    const delayMs = this.#periodMs * (1 + JITTER * (2 * this.#random() - 1));
    this.#cancel = this.#clock.after(delayMs, () => {
      this.start(tick);
      tick();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

/** Calls back once for all who asked to be called, at the earliest time that one of them asked for. */
export class CoalescingTimer {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #planned: { readonly dueMs: number; readonly cancel: () => void } | undefined;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  within(delayMs: number): void {
    const dueMs = this.#clock.monotonic() + delayMs;
    if (this.#planned && this.#planned.dueMs <= dueMs) return;
    this.#planned?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#planned = undefined;
      this.#wake();
    });
    this.#planned = { dueMs, cancel };
  }

  stop(): void {
    this.#planned?.cancel();
    this.#planned = undefined;
  }
}
