import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../../codec/canonical-json.ts';
import { sha256Hex } from '../../codec/hashes.ts';
import { type Principal, principalKey } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { ToolQuestion } from '../../tools/definition/tool-definition.ts';
import { copyJsonObject } from '../../tools/schema/plain-json.ts';

/** A question as both eras put it to clients. */
export function elicitation({ message, schema }: Pick<ToolQuestion, 'message' | 'schema'>) {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: copyJsonObject(schema) } } as const;
}

/** Whether a client shows forms. Those that say nothing of modes do (2025-11-25 and before). */
export function showsForms({ elicitation: declared }: JsonObject): boolean {
  return isJsonObject(declared) && (isJsonObject(declared.form) || Object.keys(declared).length === 0);
}

/** What a client has to declare, as `ClientCapabilities`, so that the call which ended with this error can be made. */
export function neededCapabilities({ code, details }: Pick<ErrorBody, 'code' | 'details'>): JsonObject | undefined {
  if (code !== 'NOT_SUPPORTED') return undefined;
  return isJsonObject(details.client_capabilities) ? details.client_capabilities : undefined;
}

/** A question is answered within this time, or the request is made anew. */
export const STATE_MS = 10 * 60_000;
/** As many states as may be open; beyond, the oldest counts as used. */
const MAX_OPEN = 4_096;
const MAX_LENGTH = 256;
const MAC_BYTES = 32;
const NONCE_BYTES = 16;

/** What a state belongs to: a request of one principal, by what it calls and with which arguments. */
export interface StateSubject {
  readonly name: string;
  readonly params: JsonObject;
  readonly principal: Principal;
}

interface StateParts {
  readonly clock: Clock;
  /** First part of each state, which tells the states of one purpose from those of others. */
  readonly purpose: string;
}

/**
 * The `requestState` of `input_required` results (2026-07-28): `purpose.nonce.end.HMAC-SHA-256`. Each serves once, for the
 * same request of the same principal, for ten minutes, in the process that made it.
 */
export class RequestStates {
  readonly #clock: Clock;
  readonly #purpose: string;
  /** States of another start count for nothing. */
  readonly #key = randomBytes(MAC_BYTES);
  /** Nonces that were not used yet, with the time at which they end; the oldest first. */
  readonly #open = new Map<string, number>();

  constructor({ clock, purpose }: StateParts) {
    this.#clock = clock;
    this.#purpose = purpose;
  }

  issue(subject: StateSubject): { readonly state: string; readonly nonce: string } {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const endsMs = this.#clock.now() + STATE_MS;
    this.#remember(nonce, endsMs);
    const head = `${this.#purpose}.${nonce}.${endsMs}`;
    return { state: `${head}.${this.#macOf(head, subject)}`, nonce };
  }

  /** True for what says that it is a state of this purpose; `redeem` tells whether it is. */
  claims(state: string | undefined): state is string {
    return state?.startsWith(`${this.#purpose}.`) ?? false;
  }

  /** The nonce of a state. VALIDATION_ERROR for one that is forged, of another request or principal, used before, or too old. */
  redeem(state: string, subject: StateSubject): string {
    const [purpose = '', nonce = '', endsMs = '', mac = '', ...rest] = state.slice(0, MAX_LENGTH).split('.');
    // Compared as text: base64 decodes past what is none of it, and only what was given out counts.
    const given = Buffer.from([mac, ...rest].join('.'));
    const wanted = Buffer.from(this.#macOf(`${purpose}.${nonce}.${endsMs}`, subject));
    const isOurs = purpose === this.#purpose && given.length === wanted.length && timingSafeEqual(given, wanted);
    // Deleted when it is looked at: a state serves once, whatever becomes of the request.
    if (isOurs && this.#open.delete(nonce) && Number(endsMs) > this.#clock.now()) return nonce;
    throw staleStateError();
  }

  #remember(nonce: string, endsMs: number): void {
    for (const [other, otherEndsMs] of this.#open) {
      if (otherEndsMs > this.#clock.now() && this.#open.size < MAX_OPEN) break;
      this.#open.delete(other);
    }
    this.#open.set(nonce, endsMs);
  }

  #macOf(head: string, { name, params, principal }: StateSubject): string {
    const bound = canonicalJson({ head, principal: principalKey(principal), name, params: sha256Hex(canonicalJson(params)) });
    return createHmac('sha256', this.#key).update(bound).digest('base64url');
  }
}

/** What a client is told whose state counts for nothing. */
export function staleStateError(): AtmoError {
  return new AtmoError(
    'VALIDATION_ERROR',
    'requestState does not belong to this call, was used before, or is too old; make the call without it',
  );
}
