import type { Clock } from '../core/clock.ts';
import type { HubId } from '../core/ids.ts';

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

const MAX_BUCKETS = 4_096;

/**
 * Token buckets, one for each name that is asked about. There are two generations: one that is full makes the one before it
 * forgotten, and a bucket that is used moves to the younger one. To find the one that was used longest ago, a map has to walk past
 * all that were taken out of it.
 */
export class KeyedRateLimit {
  readonly #clock: Clock;
  readonly #rate: BucketRate;
  #young = new Map<string, TokenBucket>();
  #old: ReadonlyMap<string, TokenBucket> = new Map();

  constructor(clock: Clock, rate: BucketRate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** False when `name` has used up what it may for now. */
  tryTake(name: string): boolean {
    return (this.#young.get(name) ?? this.#rejuvenate(name)).take() === 0;
  }

  #rejuvenate(name: string): TokenBucket {
    const bucket = this.#old.get(name) ?? new TokenBucket(this.#clock, this.#rate);
    if (this.#young.size >= MAX_BUCKETS) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, bucket);
    return bucket;
  }
}

/** Limits how much runs at once for each hub. */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #running = new Map<HubId, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a slot to dispose of at the end; undefined when all slots of the hub are taken. */
  enter(hub: HubId): Disposable | undefined {
    const count = this.#running.get(hub) ?? 0;
    if (count >= this.#max) return undefined;
    this.#running.set(hub, count + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#running.get(hub) ?? 1) - 1;
        if (left > 0) this.#running.set(hub, left);
        else this.#running.delete(hub);
      },
    };
  }
}
