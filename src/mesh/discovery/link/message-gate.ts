import type { Clock } from '../../../core/time/clock.ts';
import { type BucketRate, TokenBucket } from '../../link/token-bucket.ts';
import type { DiscoveryDrop } from './discovery-drops.ts';

const LINK_RATE: BucketRate = { burst: 2_000, perSecond: 500 };
const SOURCE_RATE: BucketRate = { burst: 400, perSecond: 100 };
const MAX_SOURCES = 512;

/** Bounds how many messages of a link are read at all, in sum and from each neighbour. */
export class MessageGate {
  readonly #clock: Clock;
  readonly #link: TokenBucket;
  readonly #sources = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#link = new TokenBucket(clock, LINK_RATE);
  }

  /** Why a message of the neighbour is not to be read; undefined when it is. */
  refusal(host: string): DiscoveryDrop | undefined {
    if (this.#bucket(host).take() > 0) return 'source_rate';
    return this.#link.take() > 0 ? 'link_rate' : undefined;
  }

  #bucket(host: string): TokenBucket {
    const bucket = this.#sources.get(host) ?? new TokenBucket(this.#clock, SOURCE_RATE);
    this.#sources.delete(host);
    this.#sources.set(host, bucket);
    const [oldest] = this.#sources.keys();
    if (this.#sources.size > MAX_SOURCES && oldest !== undefined) this.#sources.delete(oldest);
    return bucket;
  }
}
