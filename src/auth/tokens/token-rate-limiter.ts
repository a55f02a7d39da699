import { type Principal, principalKey, type RateLimit, type RateLimiter, rootAgentOf } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';

/** Default limits of agents, and the size of the limiter. */
export interface RateOptions {
  /** Limit of each agent whose root token has no limit; default 400 calls at once and 200 per second. The owner has no limit. */
  readonly defaultRate?: { readonly burst: number; readonly perSecond: number };
  /** Largest number of buckets; default 4,096. */
  readonly maxBuckets?: number;
}

/** How much a bucket holds and how fast it fills, in calls. */
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
 * Token buckets, one for each token of the caller's chain that has a limit. A call takes one unit from each bucket, or from none if one is
 * empty; the owner has no limit. Each hub counts separately: a token that is used on two hubs has its rate on each.
 */
export class TokenRateLimiter implements RateLimiter {
  readonly #clock: Clock;
  readonly #defaultRate: { readonly burst: number; readonly perSecond: number };
  readonly #maxBuckets: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, { defaultRate = { burst: 400, perSecond: 200 }, maxBuckets = 4096 }: RateOptions = {}) {
    this.#clock = clock;
    this.#defaultRate = defaultRate;
    this.#maxBuckets = maxBuckets;
  }

  charge(principal: Principal): void {
    const nowMs = this.#clock.monotonic();
    const buckets = this.#measuresOf(principal).map((measure) => this.#filled(measure, nowMs));
    const waitMs = Math.max(0, ...buckets.map(({ level, perMs }) => (level >= 1 ? 0 : (1 - level) / perMs)));
    if (waitMs > 0) refuse(principal, waitMs);
    for (const bucket of buckets) bucket.level -= 1;
  }

  /**
   * Returns the limits of a caller. Only a limit of the root token replaces the default: an agent could have set the limits of child tokens
   * itself.
   */
  #measuresOf({ token, ...who }: Principal): readonly Measure[] {
    if (who.kind === 'owner') return [];
    const limits = token?.rateLimits ?? [];
    const own = limits.map(measureOf);
    if (limits.some(({ tokenId }) => tokenId === token?.chain[0])) return own;
    // Children count as their root: an agent could otherwise make itself any number of names.
    const { burst, perSecond } = this.#defaultRate;
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

  /** Deletes full buckets, which equal absent buckets; if no bucket is full, deletes the fullest. */
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
