import {
  type Principal,
  principalKey,
  type RateAllowance,
  type RateLimit,
  type RateLimiter,
  rootAgentOf,
} from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';

interface Rate {
  /** Calls at once. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Default limits of agents, and the size of the limiter. */
export interface RateOptions {
  /** Rate limit of an agent whose root token has no limit; default 400 calls at once and 200 per second. The owner has no limit. */
  readonly defaultRate?: Rate;
  /** Rate of one costly purpose, such as rehearsals, which no token replaces: the limit of a root token is one of all calls. */
  readonly fixedRate?: Rate;
  /** Largest number of buckets; default 4,096. */
  readonly maxBuckets?: number;
}

/** Capacity and refill rate of a token bucket, in calls. */
interface Measure {
  readonly key: string;
  readonly capacity: number;
  readonly perMs: number;
}

interface Bucket extends Measure {
  level: number;
  atMs: number;
}

/**
 * Limits calls with token buckets: one for each token in the caller's chain that has a rate limit. A call takes one unit from each bucket.
 * If a bucket is empty, the call is refused and takes no unit. The owner has no limit. Each hub counts separately.
 */
export class TokenRateLimiter implements RateLimiter {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #isFixed: boolean;
  readonly #maxBuckets: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, { fixedRate, defaultRate = { burst: 400, perSecond: 200 }, maxBuckets = 4096 }: RateOptions = {}) {
    this.#clock = clock;
    this.#rate = fixedRate ?? defaultRate;
    this.#isFixed = fixedRate !== undefined;
    this.#maxBuckets = maxBuckets;
  }

  charge(principal: Principal): void {
    const nowMs = this.#clock.monotonic();
    const buckets = this.#measuresOf(principal).map((measure) => this.#filled(measure, nowMs));
    const waitMs = Math.max(0, ...buckets.map(({ level, perMs }) => (1 - level) / perMs));
    if (waitMs > 0) refuse(principal, waitMs);
    for (const bucket of buckets) bucket.level -= 1;
  }

  left(principal: Principal): readonly RateAllowance[] {
    const nowMs = this.#clock.monotonic();
    return this.#measuresOf(principal).map(({ key, capacity, perMs }) => {
      const bucket = this.#buckets.get(key);
      const level = bucket ? levelAt(bucket, nowMs) : capacity;
      return { left: Math.floor(level), calls: capacity, seconds: Math.ceil(capacity / perMs / 1000) };
    });
  }

  /** Returns a caller's rate limits. Only the root token's limit replaces the default, because agents choose the limits of child tokens. */
  #measuresOf({ token, ...who }: Principal): readonly Measure[] {
    if (who.kind === 'owner') return [];
    const limits = token?.rateLimits ?? [];
    const own = limits.map(measureOf);
    if (!this.#isFixed && limits.some(({ tokenId }) => tokenId === token?.chain[0])) return own;
    // Child agents share the bucket of their root agent. Otherwise, an agent could get more calls by creating children.
    const { burst, perSecond } = this.#rate;
    return [...own, { key: rootAgentOf(principalKey(who)), capacity: burst, perMs: perSecond / 1000 }];
  }

  #filled(measure: Measure, nowMs: number): Bucket {
    const bucket = this.#buckets.get(measure.key) ?? this.#newBucket(measure, nowMs);
    bucket.level = levelAt(bucket, nowMs);
    bucket.atMs = nowMs;
    return bucket;
  }

  #newBucket(measure: Measure, nowMs: number): Bucket {
    if (this.#buckets.size >= this.#maxBuckets) this.#makeRoom(nowMs);
    const bucket: Bucket = { ...measure, level: measure.capacity, atMs: nowMs };
    this.#buckets.set(measure.key, bucket);
    return bucket;
  }

  /** Deletes full buckets, since an absent bucket counts as full. If no bucket is full, deletes the fullest bucket. */
  #makeRoom(nowMs: number): void {
    let fullest: { readonly key: string; readonly share: number } | undefined;
    for (const [key, bucket] of this.#buckets) {
      const share = levelAt(bucket, nowMs) / bucket.capacity;
      if (share >= 1) this.#buckets.delete(key);
      else if (!fullest || share > fullest.share) fullest = { key, share };
    }
    if (fullest && this.#buckets.size >= this.#maxBuckets) this.#buckets.delete(fullest.key);
  }
}

function measureOf({ tokenId, calls, seconds }: RateLimit & { readonly tokenId: string }): Measure {
  return { key: `token:${tokenId}`, capacity: calls, perMs: calls / (seconds * 1000) };
}

function levelAt({ level, atMs, capacity, perMs }: Bucket, nowMs: number): number {
  return Math.min(capacity, level + (nowMs - atMs) * perMs);
}

function refuse({ id }: Principal, waitMs: number): never {
  const retryAfterMs = Math.ceil(waitMs);
  throw new AtmoError('RATE_LIMITED', `${id} calls more often than it may; the next call is possible in ${retryAfterMs} ms`, {
    retry_after_ms: retryAfterMs,
  });
}
