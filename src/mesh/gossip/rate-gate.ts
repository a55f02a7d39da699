import type { Clock } from '../../core/clock.ts';
import { type BucketRate, TokenBucket } from '../link/token-bucket.ts';

const MAX_BUCKETS = 4_096;

/** Token buckets, one for each name that is asked about; the bucket that was used longest ago makes room for a new one. */
export class RateGate {
  readonly #clock: Clock;
  readonly #rate: BucketRate;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock, rate: BucketRate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** False when `name` has used up what it may for now. */
  passes(name: string): boolean {
    const bucket = this.#buckets.get(name) ?? new TokenBucket(this.#clock, this.#rate);
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    const oldest = this.#buckets.keys().next().value;
    if (this.#buckets.size > MAX_BUCKETS && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket.take() === 0;
  }
}
