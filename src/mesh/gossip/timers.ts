import type { Clock } from '../../core/clock.ts';

/** A call comes early or late by at most this share of the period, so that hubs that start together do not stay in step. */
const JITTER = 0.1;

/** Calls `tick` about once in every period. Returns a function that ends the calls. `random` returns a number from 0 to below 1. */
export function repeatWithJitter(clock: Clock, random: () => number, periodMs: number, tick: () => void): () => void {
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(periodMs * (1 + JITTER * (2 * random() - 1)), () => {
      wait();
      tick();
    });
  };
  wait();
  return () => cancel();
}

/** Timer that combines several requests into one callback, at the earliest requested time. */
export class CoalescingTimer {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #planned: { readonly dueMs: number; readonly cancel: () => void } | undefined;

  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  within(delayMs: number): void {
    const dueMs = this.#clock.monotonic() + delayMs;
    if (this.#planned && this.#planned.dueMs <= dueMs) return;
    this.#planned?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#planned = undefined;
      this.#callback();
    });
    this.#planned = { dueMs, cancel };
  }

  stop(): void {
    this.#planned?.cancel();
    this.#planned = undefined;
  }
}
