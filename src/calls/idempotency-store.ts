import { sha256Hex } from '../codec/hashes.ts';
import { rootAgentOf } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { MAX_IDEMPOTENCY_KEY_BYTES } from '../core/ids.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';

const SPACE = 'idempotency';
const KEPT_MS = 10 * 60_000;
/** Milliseconds for which the entry of a running call is stored. No call may run longer than this. */
const RUNNING_KEPT_MS = 24 * 3_600_000;
/** Key of the time at which the hub started with older state. The keys of calls are hashes. */
const LOST_AT = 'lost-at';
/** Milliseconds by which the clock of a caller may be ahead. */
const SKEW_MS = 60_000;
/** Maximum total length of the stored answers of a caller and its descendants, in characters of JSON text. */
const MAX_KEPT_LENGTH = 4_194_304;

/** A call with its idempotency key. */
export interface IdempotentCall {
  readonly principalId: string;
  readonly key: string;
  readonly callHash: string;
  /** True if a repeated call could have a second effect. */
  readonly isActing: boolean;
}

/** The exclusive right to run a call with an idempotency key. */
export interface IdempotencyClaim {
  /** Is called before the call can take effect. If the hub crashes after that, a repeated call does not run. */
  dispatched(): void;
  /** Ends the claim. Waiting repeats get `answer`. Later repeats get `kept`, the answer without secrets; if it is undefined, they run. */
  settle(answer: JsonObject, kept: JsonObject | undefined): void;
}

/** The first call with an idempotency key gets a claim. A repeated call gets the answer of the first call. */
export type ClaimResult =
  | { readonly kind: 'claimed'; readonly claim: IdempotencyClaim }
  | { readonly kind: 'repeated'; readonly answer: Promise<JsonObject> };

interface KeptAnswer {
  readonly id: string;
  /** End of the time for which the answer is stored, in milliseconds since 1970. */
  readonly endsMs: number;
  readonly callHash: string;
  readonly length: number;
}

interface IdempotencyParts {
  readonly store: KeyValueStore;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether the store lost its last changes before this start, and with them keys of calls that have run. */
  readonly hasLostState: boolean;
}

/** Lets only one call with an idempotency key run. Repeated calls get its answer, for ten minutes and across restarts. */
export class IdempotencyStore {
  readonly #parts: IdempotencyParts;
  readonly #running = new Map<string, { readonly callHash: string; readonly answer: Promise<JsonObject> }>();
  /** Answers of this process by caller, oldest first. Answers of earlier processes expire within ten minutes and are not counted. */
  readonly #kept = new Map<string, { readonly answers: KeptAnswer[]; length: number }>();

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
  }

  /** Stores that keys were lost, because the next start finds no loss. Throws STORAGE_FAILED. */
  load(): void {
    const { store, clock, hasLostState } = this.#parts;
    if (hasLostState) store.set(SPACE, LOST_AT, clock.now(), { ttlMs: KEPT_MS });
  }

  /** Returns the number of stored answers that count towards the limits of their callers. */
  get counted(): number {
    return [...this.#kept.values()].reduce((sum, { answers }) => sum + answers.length, 0);
  }

  /**
   * Claims an idempotency key, or returns the answer of the first call with that key. Throws IDEMPOTENCY_CONFLICT if the first call had
   * other parameters, and OUTCOME_UNKNOWN if a crash interrupted the first call, its answer was deleted early, or the key may have been lost.
   */
  claim(call: IdempotentCall): ClaimResult {
    if (call.key === '' || Buffer.byteLength(call.key) > MAX_IDEMPOTENCY_KEY_BYTES) {
      throw new AtmoError('VALIDATION_ERROR', `An idempotency key has 1 to ${MAX_IDEMPOTENCY_KEY_BYTES} bytes in UTF-8`);
    }
    const id = sha256Hex(`${call.principalId}\n${call.key}`);
    const running = this.#running.get(id);
    if (running) return { kind: 'repeated', answer: sameCall(running.callHash, call, running.answer) };
    const stored = this.#parts.store.get(SPACE, id);
    if (isJsonObject(stored)) return { kind: 'repeated', answer: sameCall(stored.call_hash, call, Promise.resolve(storedAnswer(stored))) };
    this.#requireNew(call);
    return { kind: 'claimed', claim: this.#begin(id, call) };
  }

  /** For the time that answers are stored after a loss of keys, refuses a key that may be a lost one, unless a second run does no harm. */
  #requireNew({ key, isActing }: IdempotentCall): void {
    const lostAtMs = this.#parts.store.get(SPACE, LOST_AT);
    if (!isActing || typeof lostAtMs !== 'number' || timeOf(key) > lostAtMs + SKEW_MS) return;
    throw new AtmoError(
      'OUTCOME_UNKNOWN',
      'The hub had to start with older state and may have lost this idempotency key; read the state, then call without a key or with a new UUID of version 7',
    );
  }

  #begin(id: string, { callHash, principalId }: IdempotentCall): IdempotencyClaim {
    const { promise, resolve } = Promise.withResolvers<JsonObject>();
    this.#running.set(id, { callHash, answer: promise });
    return {
      dispatched: () => this.#parts.store.set(SPACE, id, { call_hash: callHash }, { ttlMs: RUNNING_KEPT_MS }),
      settle: (answer, kept) => {
        this.#running.delete(id);
        resolve(answer);
        if (!kept) this.#parts.store.delete(SPACE, id);
        else {
          this.#parts.store.set(SPACE, id, { call_hash: callHash, answer: kept }, { ttlMs: KEPT_MS });
          this.#uncountEnded();
          this.#count(principalId, { id, callHash, length: JSON.stringify(kept).length, endsMs: this.#parts.clock.now() + KEPT_MS });
        }
      },
    };
  }

  /** Stops counting answers that have expired. */
  #uncountEnded(): void {
    const nowMs = this.#parts.clock.now();
    for (const [family, kept] of this.#kept) {
      const firstLiving = kept.answers.findIndex(({ endsMs }) => endsMs > nowMs);
      const ended = kept.answers.splice(0, firstLiving === -1 ? kept.answers.length : firstLiving);
      kept.length -= ended.reduce((sum, { length }) => sum + length, 0);
      if (kept.answers.length === 0) this.#kept.delete(family);
    }
  }

  /** Counts an answer. Above the caller's limit, deletes the oldest answers but keeps their keys, so that no repeated call runs. */
  #count(principalId: string, answer: KeptAnswer): void {
    const family = rootAgentOf(principalId);
    const kept = this.#kept.get(family) ?? { answers: [], length: 0 };
    this.#kept.set(family, kept);
    kept.answers.push(answer);
    kept.length += answer.length;
    while (kept.length > MAX_KEPT_LENGTH) {
      const oldest = kept.answers.shift();
      if (!oldest) return;
      kept.length -= oldest.length;
      this.#dropAnswer(oldest);
    }
  }

  #dropAnswer({ id, callHash }: KeptAnswer): void {
    const stored = this.#parts.store.get(SPACE, id);
    // After the clock was set back, answers do not end in their order: this one may have ended, and a later call may use its key.
    if (!isJsonObject(stored) || stored.answer === undefined || stored.call_hash !== callHash) return;
    this.#parts.store.set(SPACE, id, { call_hash: callHash, dropped: true }, { ttlMs: KEPT_MS });
  }
}

/** Returns when a key was made, in milliseconds since 1970, if it is or begins with a UUID of version 7 (RFC 9562, 5.7); otherwise -Infinity. */
function timeOf(key: string): number {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/i.exec(key) ?? [];
  return high === undefined || low === undefined ? Number.NEGATIVE_INFINITY : Number.parseInt(high + low, 16);
}

function sameCall<T>(firstHash: unknown, call: IdempotentCall, answer: T): T {
  if (firstHash === call.callHash) return answer;
  throw new AtmoError('IDEMPOTENCY_CONFLICT', 'This idempotency key was used for another call; use a new key for new parameters');
}

function storedAnswer(stored: JsonObject): JsonObject {
  if (isJsonObject(stored.answer)) return stored.answer;
  if (stored.dropped === true) {
    throw new AtmoError(
      'OUTCOME_UNKNOWN',
      'The call of this idempotency key has run and its answer is no longer kept; read the state instead',
    );
  }
  throw new AtmoError(
    'OUTCOME_UNKNOWN',
    'The call of this idempotency key was running when the hub stopped; read the state before calling again with a new key',
  );
}
