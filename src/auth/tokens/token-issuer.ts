import { type KeyObject, randomBytes } from 'node:crypto';
import { publicKeyOf } from '../../codec/public-key.ts';
import { excessPermissions } from '../../core/auth/permission.ts';
import {
  type IssuedToken,
  type Principal,
  principalKey,
  rootAgentOf,
  type TokenAuthority,
  type TokenInspection,
  type TokenRecord,
  type TokenRequest,
} from '../../core/auth/principal.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, present } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { RevocationList, RevokedRecords } from './revocation-list.ts';
import { MAX_TOKEN_BYTES, MAX_TOKEN_DEPTH, signChild, signRoot, TokenSeal, tokenBytes, tokenText } from './token-chain.ts';
import { checkTokenRequest, excessOf, MAX_TTL_MS, type TokenClaims } from './token-claims.ts';
import type { TokenVerifier, VerifiedToken } from './token-verifier.ts';

const OWNERS_ALONE = ['*', 'admin:*'];

interface IssuerCollaborators extends Pick<HubContext, 'events' | 'time'> {
  readonly hub: { readonly hubId: string; readonly publicKey: string; readonly privateKey: KeyObject };
  readonly verifier: TokenVerifier;
  readonly revocations: RevocationList;
  readonly records: TokenRecords;
  /** Returns whether an agent is an application to which a person has given access. No other agent may have its name. */
  readonly isApplication: (agentId: string) => boolean;
}

/** Issues tokens that are signed with the hub's key. The owner gets root tokens; an agent gets child tokens of its own token. */
export class TokenIssuer implements TokenAuthority {
  readonly #ports: IssuerCollaborators;
  readonly #seal: TokenSeal;
  readonly #meshId: () => string | undefined;

  constructor(ports: IssuerCollaborators, { meshId }: { readonly meshId: () => string | undefined }) {
    this.#ports = ports;
    this.#seal = new TokenSeal(ports.hub.privateKey);
    this.#meshId = meshId;
  }

  issue(request: TokenRequest, by: Principal): IssuedToken {
    const claims = this.#claimsOf({ ...request, permissions: checkTokenRequest(request) });
    if (request.key !== undefined) publicKeyOf(request.key);
    const bytes = by.kind === 'owner' ? this.#signRoot(claims) : this.#signChild(claims, request, by);
    if (bytes.length > MAX_TOKEN_BYTES) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `The token would have ${bytes.length} bytes; ${MAX_TOKEN_BYTES} are allowed. Grant fewer permissions, such as ns:action:* in place of many`,
      );
    }
    const text = tokenText(bytes);
    const { principal } = this.#ports.verifier.verifySignatures(text);
    if (request.grant === undefined) this.#requireOwnName(principal.id);
    this.#record(principal, request, by);
    return { token: claims.key === this.#ports.hub.publicKey ? this.#seal.seal(text) : text, principal };
  }

  principalOf(token: string): Principal {
    return this.#ports.verifier.verify(token).principal;
  }

  inspect(token: string): TokenInspection {
    const { principal, chain, issuedAtMs, notBeforeMs } = this.#ports.verifier.verifySignatures(token);
    const facts = {
      principal,
      issuer: chain[0].issuer,
      issuedAtMs,
      notBeforeMs,
      isBearer: chain.at(-1)?.key === this.#ports.hub.publicKey && this.#seal.isSealed(token),
    };
    try {
      this.#ports.verifier.verify(token);
      if (this.#seal.isAsGivenOut(token, principal)) return { state: 'valid', ...facts };
      return { state: 'unusable', reason: 'This text is not the one that the hub gave out: its end is missing or changed', ...facts };
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      const isRevoked = this.#ports.revocations.firstRevoked({ ...principal.token, issuer: chain[0].issuer }) !== undefined;
      const state = isRevoked ? 'revoked' : code === 'TOKEN_EXPIRED' ? 'expired' : 'unusable';
      return { state, reason: message, ...facts };
    }
  }

  revoke(tokenId: string): boolean {
    const record = this.#ports.records.get(tokenId);
    let isNew = false;
    const stop = this.onRevoked((id) => {
      isNew ||= id === tokenId;
    });
    try {
      // If an agent signed the token itself, there is no record. The revocation is then stored for the longest lifetime of a token.
      return this.#ports.revocations.revoke(tokenId, record?.expiresAtMs ?? this.#ports.time.now() + MAX_TTL_MS);
    } finally {
      stop();
      // The token has ended also where the disk refuses to write that.
      if (isNew) this.#ports.events.emit('token.revoked', tokenId, record ? { agent_id: record.agentId } : {});
    }
  }

  /** Calls the listener for each revocation by this hub, and ignores revocations by other hubs. Returns a function that unsubscribes. */
  onRevoked(listener: (tokenId: string) => void): () => void {
    return this.#ports.revocations.onRevoked((tokenId, issuer) => {
      if (issuer === this.#ports.hub.hubId) listener(tokenId);
    });
  }

  find(tokenId: string): TokenRecord | undefined {
    return this.#ports.records.get(tokenId);
  }

  list(): readonly TokenRecord[] {
    return this.#ports.records.list();
  }

  #requireOwnName(agentId: string): void {
    if (!this.#ports.isApplication(agentId)) return;
    const message = `${agentId} is the name of an application to which access was given (atmo applications); choose another name for this agent`;
    throw new AtmoError('CONFLICT', message);
  }

  #claimsOf({ agentId, permissions, ttlMs, maxHops, allowedNodes, rateLimit, key }: TokenRequest): TokenClaims {
    const issuedAt = Math.floor(this.#ports.time.now() / 1000);
    return {
      issuer: this.#ports.hub.hubId,
      subject: agentId,
      ...(allowedNodes && { audience: [...new Set(allowedNodes)] }),
      expiresAt: issuedAt + Math.floor(ttlMs / 1000),
      issuedAt,
      id: randomBytes(16).toString('hex'),
      key: key ?? this.#ports.hub.publicKey,
      permissions,
      ...(maxHops !== undefined && { maxHops }),
      ...(rateLimit && { rateLimit: { calls: rateLimit.calls, seconds: rateLimit.seconds } }),
    };
  }

  #signRoot(claims: TokenClaims): Uint8Array {
    const meshId = this.#meshId();
    return signRoot({ ...claims, ...(meshId !== undefined && { meshId }) }, this.#ports.hub.privateKey);
  }

  /**
   * Signs a child token. Claims that are absent in the request are copied from the parent. A requested expiry that is later than the
   * parent's is replaced with the parent's. If any other claim exceeds the parent's claim, throws PERMISSION_DENIED.
   */
  #signChild(asked: TokenClaims, { agentId }: TokenRequest, by: Principal): Uint8Array {
    const parent = this.#parentOf(by);
    const { audience, notBefore, maxHops, rateLimit, meshId } = parent;
    const claims: TokenClaims = {
      ...present({ audience, notBefore, maxHops, rateLimit, meshId }),
      ...asked,
      issuer: parent.subject,
      subject: `${parent.subject}/${agentId}`,
      expiresAt: Math.min(asked.expiresAt, parent.expiresAt),
    };
    refuseExcess(claims, parent);
    // The second check is needed because an agent of another hub may have fewer permissions here than its token contains.
    refuseExcess(claims, { ...parent, permissions: by.permissions });
    return signChild(tokenBytes(by.token?.text ?? ''), claims, this.#ports.hub.privateKey);
  }

  /** Returns the last link of the caller's own token. */
  #parentOf(by: Principal): TokenClaims {
    if (!by.token) throw denied(`${by.id} has no token that another could come from`);
    const { chain }: VerifiedToken = this.#ports.verifier.verify(by.token.text);
    const leaf = chain.at(-1) ?? chain[0];
    if (leaf.key !== this.#ports.hub.publicKey) {
      throw denied(`The token of ${by.id} is bound to a key that this hub does not have; sign the child token with that key`);
    }
    if (leaf.subject.split('/').length >= MAX_TOKEN_DEPTH)
      throw denied(`The token of ${by.id} is the ${MAX_TOKEN_DEPTH}th of its chain; none can come from it`);
    return leaf;
  }

  #record(principal: VerifiedToken['principal'], { role, signIn, grant }: TokenRequest, by: Principal): void {
    const { id: tokenId, chain, expiresAtMs } = principal.token;
    const parent = chain.at(-2);
    this.#ports.records.save({
      id: tokenId,
      agentId: principal.id,
      permissions: principal.permissions,
      issuedAtMs: this.#ports.time.now(),
      expiresAtMs,
      issuedBy: principalKey(by),
      ...present({ role, signIn, grant: grant?.id, client: grant?.client, parent }),
    });
    this.#ports.events.emit('token.issued', tokenId, {
      agent_id: principal.id,
      permissions: principal.permissions,
      expires_at: isoTime(expiresAtMs),
      issued_by: by.id,
    });
  }
}

function refuseExcess(claims: TokenClaims, parent: TokenClaims): void {
  const reserved = claims.permissions.filter((permission) => OWNERS_ALONE.includes(permission));
  if (reserved.length > 0) throw denied(`Only the owner gives ${reserved.join(' and ')}`, reserved);
  const beyond = excessPermissions(claims.permissions, parent.permissions);
  if (beyond.length > 0) throw denied(`${parent.subject} does not have ${beyond.join(', ')} and cannot give it`, beyond);
  const excess = excessOf(claims, parent);
  if (excess) throw denied(`The token cannot be made: ${excess}`);
}

function denied(message: string, required: readonly string[] = []): AtmoError {
  return new AtmoError('PERMISSION_DENIED', message, required.length > 0 ? { required } : {});
}

const SPACE = 'access.tokens';
/** Time for which the record of an expired or revoked token is kept for the owner. */
const KEPT_AFTER_END_MS = 30 * 86_400_000;
/** A sign-in or a grant of OAuth gets a new token several times a day, so the records of its tokens are kept for a shorter time. */
const KEPT_OF_RENEWED_MS = 86_400_000;
/** Limit for the records of an agent's descendants. Above it, records of expired or revoked tokens are deleted. Records of others stay. */
const MAX_OF_FAMILY = 256;

type RecordsPorts = { readonly store: KeyValueStore; readonly time: TrustedTime };

/** The records of the tokens that this hub issued, without the tokens' texts. A record is kept until 30 days after the token's end. */
export class TokenRecords implements RevokedRecords {
  readonly #ports: RecordsPorts;
  readonly #hubId: string;

  /** `get` and `list` ignore records with another hub id. Their tokens were signed with a former key of this hub and are invalid. */
  constructor(ports: RecordsPorts, hubId: string) {
    this.#ports = ports;
    this.#hubId = hubId;
  }

  /** Stores a record. Throws STORAGE_FAILED if the write fails. */
  save(record: TokenRecord): void {
    const keptMs = record.signIn === undefined && record.grant === undefined ? KEPT_AFTER_END_MS : KEPT_OF_RENEWED_MS;
    const ttlMs = Math.max(1, record.expiresAtMs + keptMs - this.#ports.time.now());
    this.#ports.store.set(SPACE, record.id, { ...record, hub: this.#hubId }, { ttlMs });
    if (record.parent !== undefined) this.#deleteSurplus(record);
  }

  end(tokenId: string): void {
    const record = this.get(tokenId);
    if (record && record.revokedAtMs === undefined) this.save({ ...record, revokedAtMs: this.#ports.time.now() });
  }

  /** If there are too many records, deletes the oldest records of expired or revoked tokens. Their revocations remain in force. */
  #deleteSurplus({ agentId }: TokenRecord): void {
    const family = this.list().filter((record) => record.parent !== undefined && rootAgentOf(record.agentId) === rootAgentOf(agentId));
    const ended = family.filter(({ revokedAtMs, expiresAtMs }) => revokedAtMs !== undefined || expiresAtMs <= this.#ports.time.now());
    const surplus = Math.min(ended.length, family.length - MAX_OF_FAMILY);
    if (surplus > 0) for (const { id } of ended.slice(-surplus)) this.#ports.store.delete(SPACE, id);
  }

  get(tokenId: string): TokenRecord | undefined {
    return this.#parse(this.#ports.store.get(SPACE, tokenId));
  }

  /** Returns all records, the newest first. */
  list(): readonly TokenRecord[] {
    return this.#ports.store
      .entries(SPACE)
      .map(({ value }) => this.#parse(value))
      .filter((record) => record !== undefined)
      .sort((a, b) => b.issuedAtMs - a.issuedAtMs);
  }

  /** Parses a stored record; returns undefined if it is malformed or has another hub id. */
  #parse(value: Json | undefined): TokenRecord | undefined {
    return isJsonObject(value) && value.hub === this.#hubId ? parseRecord(value) : undefined;
  }
}

function parseRecord(value: JsonObject): TokenRecord | undefined {
  const { id, agentId, permissions, issuedAtMs, expiresAtMs, issuedBy, role, signIn, grant, client, parent, revokedAtMs } = value;
  if (typeof id !== 'string' || typeof agentId !== 'string' || typeof issuedBy !== 'string') return undefined;
  if (typeof issuedAtMs !== 'number' || typeof expiresAtMs !== 'number' || !Array.isArray(permissions)) return undefined;
  return {
    id,
    agentId,
    permissions: permissions.map(String),
    issuedAtMs,
    expiresAtMs,
    issuedBy,
    ...(typeof role === 'string' && { role }),
    ...(typeof signIn === 'string' && { signIn }),
    ...(typeof grant === 'string' && { grant }),
    ...(typeof client === 'string' && { client }),
    ...(typeof parent === 'string' && { parent }),
    ...(typeof revokedAtMs === 'number' && { revokedAtMs }),
  };
}
