import type { Clock } from '../../core/time/clock.ts';

/** How much may come at once, and how much more in every second. */
export interface BucketRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Bounds how often somebody may do something; refilled evenly. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: BucketRate;
  #level: number;
  #atMs: number;

  constructor(clock: Clock, rate: BucketRate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#level = rate.burst;
    this.#atMs = clock.monotonic();
  }

  /** Milliseconds to wait before the next use is possible; 0 when this one was, and has been charged. */
  take(): number {
    const { burst, perSecond } = this.#rate;
    const nowMs = this.#clock.monotonic();
    this.#level = Math.min(burst, this.#level + ((nowMs - this.#atMs) * perSecond) / 1000);
    this.#atMs = nowMs;
    if (this.#level < 1) return Math.ceil(((1 - this.#level) * 1000) / perSecond);
    this.#level -= 1;
    return 0;
  }
}
