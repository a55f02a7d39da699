import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hubIdOf } from '../../codec/public-key.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { refuseAtGate } from './certificates.ts';

const SPACE = 'mesh.invites';
const MAX_OPEN = 32;
const MAX_WRONG_OF_INVITE = 5;
const MAX_WRONG_A_MINUTE = 20;
const MINUTE_MS = 60_000;
const INVITE_ID_BYTES = 8;
const SECRET_BYTES = 16;

/** New invite. The store returns the secret only here. */
interface NewInvite {
  readonly id: string;
  readonly secret: Uint8Array;
  readonly expiresAtMs: number;
}

/** Request of a joining hub with the proof that it was invited. */
interface InviteClaim {
  readonly inviteId: string;
  readonly proof: Uint8Array;
  /** Public keys of both hubs. The transport has proven that each hub has its private key. */
  readonly keys: JoinKeys;
}

/**
 * Stores the invites of this hub. Each invite admits one hub, and its use is stored before the hub is admitted. The same hub may repeat its
 * request until the invite expires, because the connection may end before the hub has the response.
 */
export class InviteStore {
  readonly #parts: { readonly store: KeyValueStore; readonly time: TrustedTime };
  /** Times of wrong proofs for existing invites, in milliseconds since 1970. */
  #wrongAtMs: number[] = [];

  constructor(parts: { readonly store: KeyValueStore; readonly time: TrustedTime }) {
    this.#parts = parts;
  }

  /** Creates an invite. Throws RESOURCE_EXCEEDED if 32 invites are open, STORAGE_FAILED if the invite cannot be stored. */
  make({ ttlMs, permissions, mayInvite }: InviteTerms & { readonly ttlMs: number }): NewInvite {
    this.#forgetExpired();
    if (this.open().length >= MAX_OPEN) {
      throw new AtmoError('RESOURCE_EXCEEDED', `${MAX_OPEN} invites are open; wait until one is used or expires`);
    }
    const [id, secret] = [randomBytes(INVITE_ID_BYTES).toString('hex'), randomBytes(SECRET_BYTES)];
    // Rounded down, because an invite text has its expiry in whole seconds.
    const expiresAtMs = Math.floor((this.#parts.time.now() + ttlMs) / 1000) * 1000;
    const state = { state: 'open', secret: secret.toString('base64url') } as const;
    this.#save({ id, expiresAtMs, permissions, mayInvite, wrongProofs: 0, ...state });
    return { id, secret: Uint8Array.from(secret), expiresAtMs };
  }

  /**
   * Marks an invite as used by the joining hub and returns its terms. Throws PERMISSION_DENIED with the reason if the invite or its proof
   * is not valid, RATE_LIMITED after 20 wrong proofs within a minute, STORAGE_FAILED if the use cannot be stored.
   */
  redeem(claim: InviteClaim): InviteTerms & { readonly id: string } {
    const record = this.#find(claim.inviteId);
    if (record.state === 'used') this.#requireSameHub(record, claim);
    else this.#requireProof(record, claim);
    return { id: record.id, permissions: record.permissions, mayInvite: record.mayInvite };
  }

  /** Returns whether this hub made the invite, used or not. */
  has(id: string): boolean {
    return this.#parts.store.get(SPACE, id) !== undefined;
  }

  open(): readonly { readonly id: string; readonly expiresAtMs: number }[] {
    return this.#records().filter(({ state, expiresAtMs }) => state === 'open' && expiresAtMs > this.#parts.time.now());
  }

  clear(): void {
    for (const { key } of this.#parts.store.entries(SPACE)) this.#parts.store.delete(SPACE, key);
  }

  #find(id: string): InviteRecord {
    const record = parseInviteRecord(this.#parts.store.get(SPACE, id));
    if (!record) return refuseAtGate('invite_unknown', 'This hub made no such invite. Join at the hub that made it, or ask for a new one');
    if (record.expiresAtMs > this.#parts.time.now()) return record;
    return refuseAtGate('invite_expired', `The invite expired at ${isoTime(record.expiresAtMs)}. Ask for a new one`);
  }

  #requireSameHub(record: InviteRecord & { readonly state: 'used' }, { proof, keys }: InviteClaim): void {
    const isSame = record.usedBy === hubIdOf(keys.joiner) && isSameProof(proof, Buffer.from(record.proof, 'base64url'));
    if (!isSame) refuseAtGate('invite_used', 'The invite was used by another hub; each lets one hub in. Ask for a new one');
  }

  #requireProof(record: InviteRecord & { readonly state: 'open' }, { proof, keys }: InviteClaim): void {
    this.#requireGuessesLeft(record);
    const expected = joinProof(Buffer.from(record.secret, 'base64url'), keys);
    if (!isSameProof(proof, expected)) this.#countWrong(record);
    const { secret: _, ...rest } = record;
    this.#save({ ...rest, state: 'used', usedBy: hubIdOf(keys.joiner), proof: Buffer.from(expected).toString('base64url') });
  }

  #requireGuessesLeft({ wrongProofs }: InviteRecord): void {
    if (wrongProofs >= MAX_WRONG_OF_INVITE) {
      refuseAtGate('too_many_attempts', `The invite was ended after ${MAX_WRONG_OF_INVITE} wrong attempts. Ask for a new one`);
    }
    const nowMs = this.#parts.time.now();
    this.#wrongAtMs = this.#wrongAtMs.filter((atMs) => atMs <= nowMs && nowMs - atMs < MINUTE_MS);
    if (this.#wrongAtMs.length < MAX_WRONG_A_MINUTE) return;
    throw new AtmoError('RATE_LIMITED', 'There were too many wrong attempts to join; try again in a minute', {
      reason: 'too_many_attempts',
      retry_after_ms: MINUTE_MS,
    });
  }

  #countWrong(record: InviteRecord): never {
    this.#wrongAtMs.push(this.#parts.time.now());
    this.#save({ ...record, wrongProofs: record.wrongProofs + 1 });
    return refuseAtGate('wrong_proof', 'The invite does not fit. Copy its whole text, or ask for a new one');
  }

  #save(record: InviteRecord): void {
    this.#parts.store.set(SPACE, record.id, { ...record });
  }

  #records(): readonly InviteRecord[] {
    return this.#parts.store.entries(SPACE).flatMap(({ value }) => parseInviteRecord(value) ?? []);
  }

  #forgetExpired(): void {
    for (const { id, expiresAtMs } of this.#records()) if (expiresAtMs <= this.#parts.time.now()) this.#parts.store.delete(SPACE, id);
  }
}

interface InviteTerms {
  readonly permissions: readonly string[];
  /** Whether the new hub may admit other hubs too. */
  readonly mayInvite: boolean;
}

interface InviteBase extends InviteTerms {
  readonly id: string;
  readonly expiresAtMs: number;
  readonly wrongProofs: number;
}

/** Stored invite. A used invite has no secret: the stored proof is sufficient to recognise a repeated request of the same hub. */
type InviteRecord = InviteBase &
  ({ readonly state: 'open'; readonly secret: string } | { readonly state: 'used'; readonly usedBy: HubId; readonly proof: string });

/** Parses a stored invite; returns undefined if the value does not have the form of an invite. */
function parseInviteRecord(value: Json | undefined): InviteRecord | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined;
  const { id, expiresAtMs, permissions, mayInvite, wrongProofs, state, secret, usedBy, proof } = value;
  if (typeof id !== 'string' || typeof expiresAtMs !== 'number' || typeof wrongProofs !== 'number') return undefined;
  if (!Array.isArray(permissions) || typeof mayInvite !== 'boolean') return undefined;
  const base = { id, expiresAtMs, permissions: permissions.map(String), mayInvite, wrongProofs };
  if (state === 'open' && typeof secret === 'string') return { ...base, state, secret };
  if (state !== 'used' || typeof usedBy !== 'string' || typeof proof !== 'string') return undefined;
  return { ...base, state, usedBy: usedBy as HubId, proof };
}

const DOMAIN = 'atmosphere-edge join v1';

/** Raw public keys of both hubs, base64url. The transport has proven that each hub has its private key. */
interface JoinKeys {
  readonly joiner: string;
  readonly responder: string;
}

/**
 * Returns the proof that a joining hub has the secret of an invite: HMAC-SHA-256 (RFC 2104) over a constant text and the raw keys of both
 * hubs. No other hub can use the proof, because it is valid only for these two keys.
 */
export function joinProof(secret: Uint8Array, { joiner, responder }: JoinKeys): Uint8Array {
  return createHmac('sha256', secret).update(DOMAIN, 'utf8').update(joiner, 'base64url').update(responder, 'base64url').digest();
}

/** Compares two proofs in constant time. */
function isSameProof(proof: Uint8Array, expected: Uint8Array): boolean {
  return proof.length === expected.length && timingSafeEqual(proof, expected);
}
