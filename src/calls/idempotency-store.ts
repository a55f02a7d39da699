import { sha256Hex } from '../codec/hashes.ts';
import { rootAgentOf } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';

const SPACE = 'idempotency';
const KEPT_MS = 10 * 60_000;
/** A call in flight is remembered longer than any call may run. */
const RUNNING_KEPT_MS = 24 * 3_600_000;
const MAX_KEY_LENGTH = 255;
/** JSON text of the answers that are kept for one caller, with all that come from it; the disk is everybody's. */
const MAX_KEPT_LENGTH = 4_194_304;

/** Who uses which key for which call. */
export interface IdempotentCall {
  readonly principalId: string;
  readonly key: string;
  /** Hash of the tool and its parameters. */
  readonly callHash: string;
}

/** The right to run the call of a key. */
export interface IdempotencyClaim {
  /** From now on the call may take effect: after a crash it is never run again. */
  dispatched(): void;
  /** Ends the claim with the answer for everybody who waits; `kept`, its form without secrets, is stored for later repeats. */
  settle(answer: JsonObject, kept: JsonObject | undefined): void;
}

/** Whether a call is the first with its key, or a repeat that gets the answer of the first. */
export type ClaimResult =
  | { readonly kind: 'claimed'; readonly claim: IdempotencyClaim }
  | { readonly kind: 'repeated'; readonly answer: Promise<JsonObject> };

interface KeptAnswer {
  readonly id: string;
  /** Since then it is no longer stored. */
  readonly endsMs: number;
  readonly callHash: string;
  readonly length: number;
}

interface Running {
  readonly callHash: string;
  readonly answer: Promise<JsonObject>;
}

/** Makes repeats of a call with the same key harmless for ten minutes, restarts included. */
export class IdempotencyStore {
  readonly #store: KeyValueStore;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #running = new Map<string, Running>();
  /** By caller, oldest first; those of before the last start are gone within ten minutes. */
  readonly #kept = new Map<string, { readonly answers: KeptAnswer[]; length: number }>();

  constructor({ store, clock }: { readonly store: KeyValueStore; readonly clock: Pick<Clock, 'now'> }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Answers that count towards the bounds of their callers. */
  get counted(): number {
    return [...this.#kept.values()].reduce((sum, { answers }) => sum + answers.length, 0);
  }

  /** Claims a key, or answers what its first call answers. IDEMPOTENCY_CONFLICT for other parameters, OUTCOME_UNKNOWN after a crash. */
  claim(call: IdempotentCall): ClaimResult {
    if (call.key === '' || call.key.length > MAX_KEY_LENGTH) {
      throw new AtmoError('VALIDATION_ERROR', `An idempotency key has 1 to ${MAX_KEY_LENGTH} characters`);
    }
    const id = sha256Hex(`${call.principalId}\n${call.key}`);
    const running = this.#running.get(id);
    if (running) return { kind: 'repeated', answer: sameCall(running.callHash, call, running.answer) };
    const stored = this.#store.get(SPACE, id);
    if (isJsonObject(stored)) return { kind: 'repeated', answer: sameCall(stored.call_hash, call, Promise.resolve(storedAnswer(stored))) };
    return { kind: 'claimed', claim: this.#begin(id, call) };
  }

  #begin(id: string, { callHash, principalId }: IdempotentCall): IdempotencyClaim {
    const { promise, resolve } = Promise.withResolvers<JsonObject>();
    this.#running.set(id, { callHash, answer: promise });
    return {
      dispatched: () => this.#store.set(SPACE, id, { call_hash: callHash }, { ttlMs: RUNNING_KEPT_MS }),
      settle: (answer, kept) => {
        this.#running.delete(id);
        resolve(answer);
        if (!kept) this.#store.delete(SPACE, id);
        else {
          this.#store.set(SPACE, id, { call_hash: callHash, answer: kept }, { ttlMs: KEPT_MS });
          this.#forgetEnded();
          this.#count(principalId, { id, callHash, length: JSON.stringify(kept).length, endsMs: this.#clock.now() + KEPT_MS });
        }
      },
    };
  }

  /** What is no longer stored is not counted either; nothing is held for callers that are gone. */
  #forgetEnded(): void {
    const nowMs = this.#clock.now();
    for (const [family, kept] of this.#kept) {
      const firstLiving = kept.answers.findIndex(({ endsMs }) => endsMs > nowMs);
      const ended = kept.answers.splice(0, firstLiving === -1 ? kept.answers.length : firstLiving);
      kept.length -= ended.reduce((sum, { length }) => sum + length, 0);
      if (kept.answers.length === 0) this.#kept.delete(family);
    }
  }

  /** Whoever has too many answers kept loses the oldest ones: the keys stay used, so that no repeat acts a second time. */
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
    const stored = this.#store.get(SPACE, id);
    // Ten minutes old, or of another call that has the key since.
    if (!isJsonObject(stored) || stored.answer === undefined || stored.call_hash !== callHash) return;
    this.#store.set(SPACE, id, { call_hash: callHash, dropped: true }, { ttlMs: KEPT_MS });
  }
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
