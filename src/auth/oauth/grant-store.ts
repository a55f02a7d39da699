import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { PERSON_ROLES, type PersonRole } from '../../core/auth/people.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, present, textsOf } from '../../core/json.ts';
import type { ProtectedResource } from './authorization-request.ts';

const SPACE = 'oauth.grants';
/** Times at which everything ended that a person had consented to. */
const ENDS_SPACE = 'oauth.ends';
/** Longer than any code waits for its client. */
const ENDS_KEPT_MS = 3_600_000;
const PREFIX = 'ar1.';
const ID_BYTES = 16;
const SECRET_BYTES = 32;
/** Time after a rotation in which the refresh token before it may be sent again, because the answer was lost. */
const REPEAT_MS = 60_000;

/** What a person has allowed, before a client has got its tokens. */
export interface GrantDraft {
  readonly clientId: string;
  readonly clientName: string;
  readonly clientHost?: string;
  readonly agentId: string;
  readonly person: string;
  /** Role of the person at the time of the consent. With another role, the grant ends. */
  readonly role: PersonRole;
  readonly issuer: string;
  readonly resource: ProtectedResource;
  /** Permissions that the person was shown. No token of the grant has more. */
  readonly permissions: readonly string[];
  readonly untilMs: number;
  readonly consentedAtMs: number;
  /** What the person was signed in with; the grant ends with it. Absent for the owner's own credential. */
  readonly givenWith?: GivenWith;
}

/** A sign-in, or the root token of a caller without one. */
export interface GivenWith {
  readonly signIn?: string;
  readonly token?: string;
}

/** A stored grant. Of its refresh tokens only digests are stored. */
export interface StoredGrant extends GrantDraft {
  readonly id: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs?: number;
  /** Digest of the secret that all refresh tokens of the grant share. It shows that an outdated token was really one of this grant. */
  readonly family: string;
  /** Digest of the secret of the valid refresh token, and of the one before it. */
  readonly current: string;
  readonly previous?: string;
  readonly rotatedAtMs: number;
  /** The token that was given with the current refresh token, and whether it was used. Its use shows that the answer has arrived. */
  readonly accessTokenId: string;
  readonly isAccessUsed: boolean;
}

/** How a refresh token relates to its grant. `repeated`: the answer to it was lost. `reused`: it was replaced and used before. */
export type RefreshState = 'current' | 'repeated' | 'reused' | 'foreign';

/** A code that begins a grant, or the grant of one that was used before. */
export type CodeOutcome =
  | { readonly kind: 'accepted'; readonly grantId: string; readonly draft: GrantDraft }
  | { readonly kind: 'reused'; readonly grantId: string };

/** Returns a new id for a grant. */
export function newGrantId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}

/** The secrets of a refresh token: its grant, the secret of the grant, and its own. */
export interface RefreshToken {
  readonly grantId: string;
  readonly family: Uint8Array;
  readonly own: Uint8Array;
}

/** Returns the first refresh token of a grant, or the next one with the same family. */
export function newRefreshToken(grantId: string, family: Uint8Array = randomBytes(SECRET_BYTES)): RefreshToken {
  return { grantId, family, own: randomBytes(SECRET_BYTES) };
}

export function refreshTokenText({ grantId, family, own }: RefreshToken): string {
  return PREFIX + Buffer.concat([Buffer.from(grantId, 'hex'), family, own]).toString('base64url');
}

/** Returns the refresh token with this text; undefined for any other text. */
export function parseRefreshToken(text: string): RefreshToken | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  if (bytes.length !== ID_BYTES + 2 * SECRET_BYTES || refreshTextOf(bytes) !== text) return undefined;
  const end = ID_BYTES + SECRET_BYTES;
  return { grantId: bytes.subarray(0, ID_BYTES).toString('hex'), family: bytes.subarray(ID_BYTES, end), own: bytes.subarray(end) };
}

/** Returns the digest under which a secret is stored. */
export function secretDigest(secret: Uint8Array | string): string {
  return hash('sha256', secret, 'hex');
}

/**
 * Returns the state of a refresh token. A token that was replaced may be sent again for a minute if nothing that replaced it was used: the
 * answer was lost then. It is safe, because the repetition ends the access token that was not used; if somebody else sends the token, the
 * rightful client notices at its next call, renews, and thereby ends the grant.
 */
export function refreshState({ family, own }: RefreshToken, grant: StoredGrant, nowMs: number): RefreshState {
  if (!isSecret(family, grant.family)) return 'foreign';
  if (isSecret(own, grant.current)) return 'current';
  const wasLast = grant.previous !== undefined && isSecret(own, grant.previous);
  const isRecent = nowMs >= grant.rotatedAtMs && nowMs < grant.rotatedAtMs + REPEAT_MS;
  return wasLast && isRecent && !grant.isAccessUsed ? 'repeated' : 'reused';
}

interface GrantStoreParts extends Pick<HubContext, 'store'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/** Stores the grants that have not ended. The end of a grant deletes it. */
export class GrantStore {
  readonly #parts: GrantStoreParts;

  constructor(parts: GrantStoreParts) {
    this.#parts = parts;
  }

  get(id: string): StoredGrant | undefined {
    const grant = readGrant(id, this.#parts.store.get(SPACE, id));
    return grant && grant.untilMs > this.#parts.time.now() ? grant : undefined;
  }

  /** Returns the grants, the newest first. */
  all(): readonly StoredGrant[] {
    const found = this.#parts.store.entries(SPACE).flatMap(({ key, value }) => readGrant(key, value) ?? []);
    return found.filter(({ untilMs }) => untilMs > this.#parts.time.now()).sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  save({ id, resource, clientHost, givenWith, lastUsedAtMs, previous, ...grant }: StoredGrant): void {
    const record: JsonObject = {
      ...grant,
      resource: resource.address,
      paths: resource.paths,
      ...present({ clientHost, givenWith: givenWith && { ...givenWith }, lastUsedAtMs, previous }),
    };
    this.#parts.store.set(SPACE, id, record, { ttlMs: Math.max(1, grant.untilMs - this.#parts.time.now()) });
  }

  delete(id: string): boolean {
    return this.#parts.store.delete(SPACE, id);
  }

  /** Notes that the consents of a person until now are void, also those whose code no client has exchanged. */
  noteEnd(person: string): void {
    this.#parts.store.set(ENDS_SPACE, person, this.#parts.time.now(), { ttlMs: ENDS_KEPT_MS });
  }

  /** Returns the time of the last `noteEnd`, milliseconds since 1970; minus infinity if there is none that matters. */
  endedAtMs(person: string): number {
    const atMs = this.#parts.store.get(ENDS_SPACE, person);
    return typeof atMs === 'number' ? atMs : Number.NEGATIVE_INFINITY;
  }
}

/** Returns a draft as JSON, for codes that wait for their client. */
export function draftJson({ resource, clientHost, givenWith, ...draft }: GrantDraft): JsonObject {
  return {
    ...draft,
    resource: resource.address,
    paths: resource.paths,
    ...present({ clientHost, givenWith: givenWith && { ...givenWith } }),
  };
}

/** Parses a stored draft; returns undefined if it is malformed, so that it grants nothing. */
export function readDraft(value: Json | undefined): GrantDraft | undefined {
  if (!isJsonObject(value)) return undefined;
  const { clientId, clientName, clientHost, agentId, person, issuer, resource, untilMs, consentedAtMs } = value;
  const texts = [clientId, clientName, agentId, person, issuer, resource];
  const role = PERSON_ROLES.find((known) => known === value.role);
  if (!texts.every((text) => typeof text === 'string') || !role) return undefined;
  if (typeof untilMs !== 'number' || typeof consentedAtMs !== 'number') return undefined;
  const givenWith = readGivenWith(objectOf(value.givenWith));
  if (value.givenWith !== undefined && !givenWith) return undefined;
  return {
    clientId: String(clientId),
    clientName: String(clientName),
    ...(typeof clientHost === 'string' && { clientHost }),
    agentId: String(agentId),
    person: String(person),
    role,
    issuer: String(issuer),
    resource: { address: String(resource), paths: textsOf(value.paths) },
    permissions: textsOf(value.permissions),
    untilMs,
    consentedAtMs,
    ...(givenWith && { givenWith }),
  };
}

function readGivenWith({ signIn, token }: JsonObject): GivenWith | undefined {
  if (typeof signIn === 'string') return { signIn };
  return typeof token === 'string' ? { token } : undefined;
}

function readGrant(id: string, value: Json | undefined): StoredGrant | undefined {
  const draft = readDraft(value);
  if (!draft || !isJsonObject(value)) return undefined;
  const { createdAtMs, lastUsedAtMs, family, current, previous, rotatedAtMs, accessTokenId } = value;
  if (typeof createdAtMs !== 'number' || typeof rotatedAtMs !== 'number' || typeof accessTokenId !== 'string') return undefined;
  if (typeof family !== 'string' || typeof current !== 'string') return undefined;
  return {
    ...draft,
    id,
    createdAtMs,
    family,
    current,
    rotatedAtMs,
    accessTokenId,
    isAccessUsed: value.isAccessUsed !== false,
    ...(typeof lastUsedAtMs === 'number' && { lastUsedAtMs }),
    ...(typeof previous === 'string' && { previous }),
  };
}

function refreshTextOf(bytes: Buffer): string {
  return PREFIX + bytes.toString('base64url');
}

function isSecret(secret: Uint8Array, digest: string): boolean {
  const [given, stored] = [Buffer.from(secretDigest(secret)), Buffer.from(digest)];
  return given.length === stored.length && timingSafeEqual(given, stored);
}
