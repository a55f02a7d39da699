import type { Clock } from '../../core/time/clock.ts';

/** Calls back once for all who asked to be called, at the earliest time that one of them asked for. */
export class Wakeup {
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
