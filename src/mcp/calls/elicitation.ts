import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../../codec/canonical-json.ts';
import { sha256Hex } from '../../codec/hashes.ts';
import { type Principal, principalKey } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { ToolQuestion } from '../../tools/definition/tool-definition.ts';
import { copyJsonObject } from '../../tools/schema/plain-json.ts';

/** Returns a question as an MCP elicitation. Clients of all supported protocol versions understand it. */
export function elicitation({ message, schema }: Pick<ToolQuestion, 'message' | 'schema'>) {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: copyJsonObject(schema) } } as const;
}

/** Returns whether a client can show forms. A client of MCP 2025-11-25 or before may declare `elicitation` without the mode `form`. */
export function showsForms({ elicitation: declared }: JsonObject): boolean {
  return isJsonObject(declared) && (isJsonObject(declared.form) || Object.keys(declared).length === 0);
}

/** Returns the `ClientCapabilities` that the client must declare to repeat the failed call; undefined if the error needs none. */
export function neededCapabilities({ code, details }: Pick<ErrorBody, 'code' | 'details'>): JsonObject | undefined {
  if (code !== 'NOT_SUPPORTED') return undefined;
  return isJsonObject(details.client_capabilities) ? details.client_capabilities : undefined;
}

/** How long the hub waits for an answer, in milliseconds. */
export const STATE_MS = 10 * 60_000;
/** Maximum number of unused states. Above this number, the oldest state becomes invalid. */
const MAX_OPEN = 4_096;
const MAX_LENGTH = 256;
const MAC_BYTES = 32;
const NONCE_BYTES = 16;

/** What a state is bound to: the principal, the called method or tool, and the arguments. */
export interface StateSubject {
  readonly name: string;
  readonly params: JsonObject;
  readonly principal: Principal;
}

interface StateParts {
  readonly clock: Clock;
  /** The first part of the state. It distinguishes states for different purposes. */
  readonly purpose: string;
}

/**
 * Creates and checks the `requestState` of `input_required` results (MCP 2026-07-28): `purpose.nonce.end.HMAC-SHA-256`. A state is valid
 * once, for ten minutes, and only in the process that created it. The repeated request must have the same principal and content.
 */
export class RequestStates {
  readonly #clock: Clock;
  readonly #purpose: string;
  /** The key is new in each process, so that states of an earlier process are invalid. */
  readonly #key = randomBytes(MAC_BYTES);
  /** Unused nonces with their expiry, oldest first. */
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

  /** Returns whether a text looks like a state for this purpose. Only `redeem` verifies it. */
  claims(state: string | undefined): state is string {
    return state?.startsWith(`${this.#purpose}.`) ?? false;
  }

  /**
   * Returns the nonce of a state and makes the state invalid. Throws VALIDATION_ERROR if the state is forged, used, expired, or belongs to
   * another request or principal.
   */
  redeem(state: string, subject: StateSubject): string {
    const [purpose = '', nonce = '', endsMs = '', mac = '', ...rest] = state.slice(0, MAX_LENGTH).split('.');
    // The texts are compared, not the decoded bytes: base64 decoding skips invalid characters, so several texts decode to the same bytes.
    const given = Buffer.from([mac, ...rest].join('.'));
    const wanted = Buffer.from(this.#macOf(`${purpose}.${nonce}.${endsMs}`, subject));
    const isOurs = purpose === this.#purpose && given.length === wanted.length && timingSafeEqual(given, wanted);
    // The nonce is deleted first, so that the state is valid only once, whatever the request's result is.
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

/** Returns the error for an invalid state. */
export function staleStateError(): AtmoError {
  return new AtmoError(
    'VALIDATION_ERROR',
    'requestState does not belong to this call, was used before, or is too old; make the call without it',
  );
}
