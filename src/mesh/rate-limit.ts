import type { Clock } from '../core/clock.ts';
import type { HubId } from '../core/ids.ts';

/** Capacity of a token bucket (`burst`) and its refill rate (`perSecond`). */
export interface BucketRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Token bucket that limits a rate. Its tokens are refilled continuously. */
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

  /** Takes a token and returns 0. If no token is left, returns the milliseconds until the next token. */
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
 * Limits the rate of each name with a token bucket. A bucket that is used moves to the young generation of buckets. When that generation is
 * full, all buckets of the old generation are discarded, and the young generation becomes the old one. This replaces a search for the
 * oldest bucket, which is slow in a `Map` with many deletions.
 */
export class KeyedRateLimit {
  readonly #clock: Clock;
  readonly #rate: BucketRate;
  readonly #maxBuckets: number;
  #young = new Map<string, TokenBucket>();
  #old: ReadonlyMap<string, TokenBucket> = new Map();

  /** `maxBuckets` is the maximum number of buckets in each generation. */
  constructor(clock: Clock, rate: BucketRate, maxBuckets = MAX_BUCKETS) {
    this.#clock = clock;
    this.#rate = rate;
    this.#maxBuckets = maxBuckets;
  }

  /** Takes a token; returns false if `name` has no token left. */
  tryTake(name: string): boolean {
    return (this.#young.get(name) ?? this.#rejuvenate(name)).take() === 0;
  }

  #rejuvenate(name: string): TokenBucket {
    const bucket = this.#old.get(name) ?? new TokenBucket(this.#clock, this.#rate);
    if (this.#young.size >= this.#maxBuckets) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, bucket);
    return bucket;
  }
}

/** Limits the number of simultaneous operations of each hub. */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #running = new Map<HubId, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a slot, which the caller disposes when the operation ends. Returns undefined if all slots of the hub are taken. */
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
