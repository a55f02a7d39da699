import { AtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/service.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';

const SPACE = 'access.nonces';

/** How many live nonces there may be. */
export interface ReplayLimits {
  /** In all; default 8,192. */
  readonly maxNonces?: number;
  /** Of one holder, so that none can use up the room of the others; default 1,024. */
  readonly maxPerHolder?: number;
}

interface Nonce {
  readonly holder: string;
  readonly untilMs: number;
}

/**
 * Remembers which nonces were used, over restarts too: each is on the disk before it is accepted. A nonce that could still
 * be replayed is never forgotten for want of room; new ones are refused then.
 */
export class ReplayCache implements Service {
  readonly #store: KeyValueStore;
  readonly #time: TrustedTime;
  readonly #maxNonces: number;
  readonly #maxPerHolder: number;
  /** In the order in which they were used. */
  readonly #live = new Map<string, Nonce>();
  readonly #perHolder = new Map<string, number>();

  constructor({ store, time }: { readonly store: KeyValueStore; readonly time: TrustedTime }, limits: ReplayLimits = {}) {
    this.#store = store;
    this.#time = time;
    this.#maxNonces = limits.maxNonces ?? 8192;
    this.#maxPerHolder = limits.maxPerHolder ?? 1024;
  }

  /** Takes up the nonces of before the restart. STORAGE_FAILED. */
  async start(): Promise<void> {
    for (const { key, value } of this.#store.entries(SPACE)) {
      // One that cannot be read was used all the same; it may go when every proof of its time has expired.
      const untilMs = typeof value === 'number' ? value : this.#time.now() + 120_000;
      this.#keep(key, { holder: holderOf(key), untilMs });
    }
  }

  /**
   * Marks a nonce (hex) of a holder (the id of a token) as used until `untilMs`, milliseconds since 1970; false when it was
   * used before. RATE_LIMITED when too many are live, STORAGE_FAILED; neither uses it up.
   */
  use(holder: string, nonce: string, untilMs: number): boolean {
    this.#forgetExpired();
    const key = `${holder}.${nonce}`;
    if (this.#live.has(key)) return false;
    this.#requireRoom(holder);
    this.#store.set(SPACE, key, untilMs, { ttlMs: Math.max(1, untilMs - this.#time.now()) });
    this.#keep(key, { holder, untilMs });
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#live.clear();
    this.#perHolder.clear();
  }

  #keep(key: string, nonce: Nonce): void {
    this.#live.set(key, nonce);
    this.#perHolder.set(nonce.holder, (this.#perHolder.get(nonce.holder) ?? 0) + 1);
  }

  #requireRoom(holder: string): void {
    const isFull = this.#live.size >= this.#maxNonces || (this.#perHolder.get(holder) ?? 0) >= this.#maxPerHolder;
    if (!isFull) return;
    const nextMs = Math.min(...[...this.#live.values()].map(({ untilMs }) => untilMs));
    throw new AtmoError('RATE_LIMITED', 'Too many proofs of possession were used in the last two minutes; send this request again later', {
      retry_after_ms: Math.max(1, nextMs - this.#time.now()),
    });
  }

  /** Proofs live for about as long as each other: the ones used first are the first to expire, or nearly so. */
  #forgetExpired(): void {
    const nowMs = this.#time.now();
    for (const [key, { holder, untilMs }] of this.#live) {
      if (untilMs > nowMs) continue;
      this.#live.delete(key);
      const left = (this.#perHolder.get(holder) ?? 1) - 1;
      if (left > 0) this.#perHolder.set(holder, left);
      else this.#perHolder.delete(holder);
    }
  }
}

function holderOf(key: string): string {
  return key.slice(0, key.indexOf('.'));
}
