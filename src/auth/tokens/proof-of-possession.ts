import { createHash } from 'node:crypto';
import { decodeCbor } from '../../codec/cbor.ts';
import { verifySign1 } from '../../codec/cose-sign1.ts';
import { publicKeyOf } from '../../codec/public-key.ts';
import { TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import { type Clock, isoTime, type TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { tokenBytes } from './token-chain.ts';

/** A received proof of possession, and the token and operation that the proof must name. */
export interface ProofCheck {
  /** The received proof: COSE_Sign1 in base64url without padding. */
  readonly proof: string;
  readonly token: { readonly text: string; readonly chain: readonly string[]; readonly keys: readonly string[] };
  readonly operation: string;
}

interface Statement {
  readonly tokenHash: Uint8Array;
  readonly operation: string;
  readonly contentHash: Uint8Array;
  readonly hubId: string;
  readonly atMs: number;
  readonly nonce: Uint8Array;
}

const AAD: Uint8Array = Buffer.from('atmosphere-edge proof v1', 'utf8');
const CLAIM = { tokenHash: 1, operation: 2, contentHash: 3, hubId: 4, time: 5, nonce: 6 } as const;
const CLAIMS = 6;
const HASH_BYTES = 32;
const NONCE_BYTES = 16;
const MAX_TEXT_LENGTH = 4096;

interface ProofCollaborators {
  readonly replays: Pick<ReplayCache, 'use'>;
  readonly time: TrustedTime;
}

/** Verifies that the bearer holds the private key of the token's last link, and that the proof is not a replay. */
export class ProofOfPossession {
  readonly #ports: ProofCollaborators;
  readonly #hubId: string;

  constructor(ports: ProofCollaborators, hubId: string) {
    this.#ports = ports;
    this.#hubId = hubId;
  }

  /**
   * Verifies a proof and returns the SHA-256 (hex) that the request's content must have. Throws TOKEN_INVALID if the proof is malformed,
   * was used before, or is for another token, operation, hub or time. Throws RATE_LIMITED if the cache is full, SERVICE_UNAVAILABLE while
   * used proofs may be unknown, and STORAGE_FAILED if the write fails.
   */
  verify({ proof, token, operation }: ProofCheck): string {
    const statement = this.#signed(proof, token.keys.at(-1) ?? '');
    if (Buffer.compare(statement.tokenHash, sha256(tokenBytes(token.text))) !== 0) refuse('is about another token');
    if (statement.operation !== operation) refuse('is about another operation');
    if (statement.hubId !== this.#hubId) refuse(`is for another hub than this one, ${this.#hubId}`);
    if (Math.abs(this.#ports.time.now() - statement.atMs) > TOKEN_SKEW_MS) {
      refuse(`was not made within ${TOKEN_SKEW_MS / 1000} s of the time on this hub, ${isoTime(this.#ports.time.now())}`);
    }
    const nonce = Buffer.from(statement.nonce).toString('hex');
    // Proofs are counted for each root token, because a key holder can create any number of child tokens. A proof is still valid in its
    // last millisecond, so the nonce is stored one millisecond longer.
    if (!this.#ports.replays.use(token.chain[0] ?? '', nonce, statement.atMs + TOKEN_SKEW_MS + 1)) refuse('was used before');
    return Buffer.from(statement.contentHash).toString('hex');
  }

  #signed(proof: string, key: string): Statement {
    const message = Buffer.from(proof, 'base64url');
    if (proof.length > MAX_TEXT_LENGTH || message.toString('base64url') !== proof) refuse('is not base64url without padding');
    try {
      return parse(verifySign1(message, { externalAad: AAD, keyOf: () => publicKeyOf(key) }));
    } catch (thrown) {
      if (thrown instanceof AtmoError && thrown.code === 'VALIDATION_ERROR') return refuse('is malformed or not signed with its key');
      throw thrown;
    }
  }
}

function parse(payload: Uint8Array): Statement {
  const statement = decodeCbor(payload);
  if (!(statement instanceof Map) || statement.size !== CLAIMS) return refuse('is malformed');
  const claim = (name: keyof typeof CLAIM): unknown => statement.get(CLAIM[name]);
  const [operation, hubId, time] = [claim('operation'), claim('hubId'), claim('time')];
  if (typeof operation !== 'string' || typeof hubId !== 'string' || typeof time !== 'number') return refuse('is malformed');
  return {
    tokenHash: bytes(claim('tokenHash'), HASH_BYTES),
    operation,
    contentHash: bytes(claim('contentHash'), HASH_BYTES),
    hubId,
    atMs: time * 1000,
    nonce: bytes(claim('nonce'), NONCE_BYTES),
  };
}

function bytes(value: unknown, length: number): Uint8Array {
  return value instanceof Uint8Array && value.length === length ? value : refuse('is malformed');
}

function sha256(content: Uint8Array): Uint8Array {
  return Uint8Array.from(createHash('sha256').update(content).digest());
}

function refuse(problem: string): never {
  throw new AtmoError('TOKEN_INVALID', `The proof of possession ${problem}; sign a new one for each request`);
}

const SPACE = 'access.nonces';
/** Key of the end of the wait after a loss. A nonce has a dot in its key. */
const LOST_UNTIL = 'lost-until';

/** Limits of the replay cache. */
export interface ReplayLimits {
  /** Largest number of stored nonces; default 8,192. */
  readonly maxNonces?: number;
  /** Largest number of stored nonces of one holder, so that no holder can fill the cache; default 1,024. */
  readonly maxPerHolder?: number;
}

interface Nonce {
  readonly holder: string;
  readonly untilMs: number;
}

interface ReplayCachePorts {
  readonly store: KeyValueStore;
  readonly time: TrustedTime;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Whether the store lost its last changes before this start, and with them nonces of proofs that may be valid still. */
  readonly hasLostState: boolean;
}

/** Time from a proof to the end of its validity, by the clocks that differ most from each other, in milliseconds. */
const LONGEST_VALID_MS = 2 * TOKEN_SKEW_MS;

/**
 * Stores the nonces of used proofs, also across restarts: a nonce is on the disk before its proof is accepted. A full cache refuses new
 * nonces and keeps all nonces that could still be replayed. If nonces were lost, accepts no proof until all proofs of before have ended.
 */
export class ReplayCache implements Service {
  readonly #ports: ReplayCachePorts;
  readonly #limits: Required<ReplayLimits>;
  readonly #live = new Map<string, Nonce>();
  readonly #perHolder = new Map<string, number>();
  /** Monotonic time from which on each valid proof was made after this start. */
  #acceptsFromMs = Number.NEGATIVE_INFINITY;

  constructor(ports: ReplayCachePorts, { maxNonces = 8192, maxPerHolder = 1024 }: ReplayLimits = {}) {
    this.#ports = ports;
    this.#limits = { maxNonces, maxPerHolder };
  }

  /** Loads the stored nonces. Rejects with STORAGE_FAILED if they cannot be read. */
  async start(): Promise<void> {
    this.#beginWait();
    for (const { key, value } of this.#ports.store.entries(SPACE)) {
      if (key === LOST_UNTIL) continue;
      // If the expiry time of a nonce is unreadable, the nonce is kept for two minutes, because no proof stays valid for longer.
      const untilMs = typeof value === 'number' ? value : this.#ports.time.now() + 120_000;
      this.#keep(key, { holder: key.slice(0, key.indexOf('.')), untilMs });
    }
  }

  /**
   * Marks a nonce (hex) as used until `untilMs` (milliseconds since 1970). `holder` is a token id. Returns false if the nonce was already
   * used. Throws RATE_LIMITED if the cache is full, SERVICE_UNAVAILABLE while used nonces may be lost, and STORAGE_FAILED if the write fails. After
   * an error, the nonce is unused.
   */
  use(holder: string, nonce: string, untilMs: number): boolean {
    this.#requireKnown();
    this.#deleteExpired();
    const key = `${holder}.${nonce}`;
    if (this.#live.has(key)) return false;
    this.#requireCapacity(holder);
    this.#ports.store.set(SPACE, key, untilMs, { ttlMs: Math.max(1, untilMs - this.#ports.time.now()) });
    this.#keep(key, { holder, untilMs });
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#live.clear();
    this.#perHolder.clear();
  }

  /** Begins the wait after a loss, or goes on with that of an earlier start. Its end is stored, because the next start finds no loss. */
  #beginWait(): void {
    const { store, time, clock, hasLostState } = this.#ports;
    const stored = store.get(SPACE, LOST_UNTIL);
    if (!hasLostState && typeof stored !== 'number') return;
    const untilMs = hasLostState ? time.now() + LONGEST_VALID_MS : Number(stored);
    if (hasLostState) store.set(SPACE, LOST_UNTIL, untilMs, { ttlMs: LONGEST_VALID_MS });
    // After the clock was set back, no more than a whole wait is left.
    this.#acceptsFromMs = clock.monotonic() + Math.min(untilMs - time.now(), LONGEST_VALID_MS);
  }

  #requireKnown(): void {
    const remainingMs = this.#acceptsFromMs - this.#ports.clock.monotonic();
    if (remainingMs <= 0) return;
    const message = 'The hub has lost which proofs of possession were used before it started; send this request again with a new one later';
    throw new AtmoError('SERVICE_UNAVAILABLE', message, { retry_after_ms: remainingMs });
  }

  #keep(key: string, nonce: Nonce): void {
    this.#live.set(key, nonce);
    this.#perHolder.set(nonce.holder, (this.#perHolder.get(nonce.holder) ?? 0) + 1);
  }

  #requireCapacity(holder: string): void {
    const isFull = this.#live.size >= this.#limits.maxNonces || (this.#perHolder.get(holder) ?? 0) >= this.#limits.maxPerHolder;
    if (!isFull) return;
    const nextMs = Math.min(...[...this.#live.values()].map(({ untilMs }) => untilMs));
    throw new AtmoError('RATE_LIMITED', 'Too many proofs of possession were used in the last two minutes; send this request again later', {
      retry_after_ms: Math.max(1, nextMs - this.#ports.time.now()),
    });
  }

  #deleteExpired(): void {
    const nowMs = this.#ports.time.now();
    for (const [key, { holder, untilMs }] of this.#live) {
      if (untilMs > nowMs) continue;
      this.#live.delete(key);
      const left = (this.#perHolder.get(holder) ?? 1) - 1;
      if (left > 0) this.#perHolder.set(holder, left);
      else this.#perHolder.delete(holder);
    }
  }
}
