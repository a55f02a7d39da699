import type { Clock } from '../../../core/time/clock.ts';
import { type BucketRate, TokenBucket } from '../../link/token-bucket.ts';

const MAX_BUCKETS = 4_096;

/**
 * Token buckets, one for each name that is asked about. There are two generations: one that is full makes the one before it
 * forgotten, and a bucket that is used moves to the younger one. To find the one that was used longest ago, a map has to walk past
 * all that were taken out of it.
 */
export class RateGate {
  readonly #clock: Clock;
  readonly #rate: BucketRate;
  #young = new Map<string, TokenBucket>();
  #old: ReadonlyMap<string, TokenBucket> = new Map();

  constructor(clock: Clock, rate: BucketRate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** False when `name` has used up what it may for now. */
  passes(name: string): boolean {
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
