import { type CborValue, decodeCbor, encodeCbor } from '../../codec/cbor.ts';
import { excessPermissions, parseGrant, requireGrant } from '../../core/auth/permission.ts';
import { AGENT_NAME, isNameOfOther, LONGEST_TOKEN_SECONDS, type RateLimit, type TokenRequest } from '../../core/auth/principal.ts';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import { type JsonObject, present } from '../../core/json.ts';

/** Refuses a token. The message never quotes the token. `details` may name the token only if its signatures were verified. */
export function refuseToken(
  problem: string,
  details: JsonObject = {},
  code: Extract<ErrorCode, 'TOKEN_INVALID' | 'TOKEN_EXPIRED'> = 'TOKEN_INVALID',
): never {
  throw new AtmoError(code, `The token is refused: ${problem}; ask whoever gave it to you for a new one`, details);
}

/** Claims of one link of a token (CWT, RFC 8392). Times are whole seconds since 1970. */
export interface TokenClaims {
  /** Hub id for a root token; the parent's subject for a child token. */
  readonly issuer: string;
  /** The agent's id. The id of a child agent is its parent's id, a slash and a name. */
  readonly subject: string;
  /** Ids of the hubs that may act for the agent. If absent, every hub of the mesh may; if empty, no hub may. */
  readonly audience?: readonly string[];
  readonly expiresAt: number;
  /** Seconds since 1970; if absent, `issuedAt` applies. */
  readonly notBefore?: number;
  readonly issuedAt: number;
  /** Token id: 16 random bytes in hex. */
  readonly id: string;
  /** Raw Ed25519 public key to which the token is bound (RFC 8747): 32 bytes in base64url. */
  readonly key: string;
  readonly permissions: readonly string[];
  readonly maxHops?: number;
  readonly rateLimit?: RateLimit;
  readonly meshId?: string;
}

const CLAIM_BOUNDS = { permissions: 64, allowedNodes: 32, maxHops: 255, rateCalls: 1_000_000, rateSeconds: 86_400 } as const;
/** Pattern of the id of a hub or mesh. */
const NODE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** Pattern of an agent's id: up to four names, separated by slashes. */
const AGENT_ID = /^[a-z0-9][a-z0-9_.-]{0,63}(?:\/[a-z0-9][a-z0-9_.-]{0,63}){0,3}$/;
const CLAIMS_DEPTH = 4;
const KEY_BYTES = 32;
const ID_BYTES = 16;

/** Keys of the registered claims (RFC 8392 §3.1, RFC 8747 §3.1) and of private claims, which are below -65536 (RFC 8392 §9.1). */
const CLAIM = {
  issuer: 1,
  subject: 2,
  audience: 3,
  expiresAt: 4,
  notBefore: 5,
  issuedAt: 6,
  id: 7,
  confirmation: 8,
  permissions: -70_001,
  maxHops: -70_002,
  rateLimit: -70_003,
  meshId: -70_004,
} as const;
const KNOWN = new Set<unknown>(Object.values(CLAIM));
/** Labels and values of an Ed25519 key as COSE_Key (RFC 9053 §7.2). */
const COSE_KEY = { kty: 1, crv: -1, x: -2, okp: 1, ed25519: 6 } as const;

/** Returns the claims as the bytes that are signed. */
export function encodeClaims(claims: TokenClaims): Uint8Array {
  const { audience, notBefore, maxHops, rateLimit, meshId } = claims;
  const coseKey = new Map<number, CborValue>([
    [COSE_KEY.kty, COSE_KEY.okp],
    [COSE_KEY.crv, COSE_KEY.ed25519],
    [COSE_KEY.x, Uint8Array.from(Buffer.from(claims.key, 'base64url'))],
  ]);
  return encodeCbor(
    new Map<number, CborValue>([
      [CLAIM.issuer, claims.issuer],
      [CLAIM.subject, claims.subject],
      ...(audience ? [[CLAIM.audience, audience] as const] : []),
      [CLAIM.expiresAt, claims.expiresAt],
      ...(notBefore !== undefined ? [[CLAIM.notBefore, notBefore] as const] : []),
      [CLAIM.issuedAt, claims.issuedAt],
      [CLAIM.id, Uint8Array.from(Buffer.from(claims.id, 'hex'))],
      [CLAIM.confirmation, new Map([[1, coseKey]])],
      [CLAIM.permissions, claims.permissions],
      ...(maxHops !== undefined ? [[CLAIM.maxHops, maxHops] as const] : []),
      ...(rateLimit ? [[CLAIM.rateLimit, [rateLimit.calls, rateLimit.seconds]] as const] : []),
      ...(meshId !== undefined ? [[CLAIM.meshId, meshId] as const] : []),
    ]),
  );
}

/** Decodes a token's payload and checks the type and limits of each claim. Throws TOKEN_INVALID with the name of the invalid claim. */
export function decodeClaims(payload: Uint8Array): TokenClaims {
  const map = decodeCbor(payload, { maxDepth: CLAIMS_DEPTH });
  if (!(map instanceof Map)) return refuseToken('its claims are not a map');
  for (const key of map.keys()) {
    if (!KNOWN.has(key)) refuseToken(`it has the claim ${String(key).slice(0, 32)}, which is not known here`);
  }
  const claim = (name: keyof typeof CLAIM): unknown => map.get(CLAIM[name]);
  return present({
    audience: audienceOf(claim('audience')),
    notBefore: optional(claim('notBefore'), (value) => time(value, 'nbf')),
    maxHops: optional(claim('maxHops'), (value) => integer(value, { name: 'max_hops', least: 0, most: CLAIM_BOUNDS.maxHops })),
    rateLimit: optional(claim('rateLimit'), rateOf),
    meshId: optional(claim('meshId'), (value) => nodeId(value, 'mesh id')),
    issuer: issuerOf(claim('issuer')),
    subject: subjectOf(claim('subject'), 'sub'),
    expiresAt: time(claim('expiresAt'), 'exp'),
    issuedAt: time(claim('issuedAt'), 'iat'),
    id: bytes(claim('id'), { name: 'cti', length: ID_BYTES }).toString('hex'),
    key: keyOf(claim('confirmation')),
    permissions: permissionsOf(claim('permissions')),
  });
}

function issuerOf(value: unknown): string {
  return typeof value === 'string' && NODE_ID.test(value) ? value : subjectOf(value, 'iss');
}

function subjectOf(value: unknown, name: string): string {
  return typeof value === 'string' && AGENT_ID.test(value) ? value : refuseToken(`its claim ${name} is not the id of an agent`);
}

function audienceOf(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > CLAIM_BOUNDS.allowedNodes)
    return refuseToken(`its claim aud is not a list of at most ${CLAIM_BOUNDS.allowedNodes} hubs`);
  const nodes = value.map((node) => nodeId(node, 'aud'));
  return requireDistinct(nodes, 'aud');
}

function permissionsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > CLAIM_BOUNDS.permissions) {
    return refuseToken(`it does not hold 1 to ${CLAIM_BOUNDS.permissions} permissions`);
  }
  for (const grant of value) {
    if (typeof grant !== 'string' || parseGrant(grant) === undefined) refuseToken('one of its permissions is malformed');
  }
  return requireDistinct(value as readonly string[], 'permissions');
}

function rateOf(value: unknown): RateLimit {
  if (!Array.isArray(value) || value.length !== 2) return refuseToken('its claim rate_limit is not [calls, seconds]');
  const [calls, seconds]: readonly unknown[] = value;
  return {
    calls: integer(calls, { name: 'rate_limit', least: 1, most: CLAIM_BOUNDS.rateCalls }),
    seconds: integer(seconds, { name: 'rate_limit', least: 1, most: CLAIM_BOUNDS.rateSeconds }),
  };
}

/** Checks only the form of a key. Whether the key is a valid point of the curve is checked before its first use. */
function keyOf(value: unknown): string {
  const coseKey: unknown = value instanceof Map && value.size === 1 ? value.get(1) : undefined;
  if (
    !(coseKey instanceof Map) ||
    coseKey.size !== 3 ||
    coseKey.get(COSE_KEY.kty) !== COSE_KEY.okp ||
    coseKey.get(COSE_KEY.crv) !== COSE_KEY.ed25519
  ) {
    return refuseToken('its claim cnf is not an Ed25519 key');
  }
  return bytes(coseKey.get(COSE_KEY.x), { name: 'cnf', length: KEY_BYTES }).toString('base64url');
}

function nodeId(value: unknown, name: string): string {
  if (typeof value === 'string' && NODE_ID.test(value)) return value;
  return refuseToken(`its claim ${name} holds what is not an id of a hub or mesh`);
}

function bytes(value: unknown, { name, length }: { readonly name: string; readonly length: number }): Buffer {
  if (value instanceof Uint8Array && value.length === length) return Buffer.from(value.buffer, value.byteOffset, value.length);
  return refuseToken(`its claim ${name} does not hold ${length} bytes`);
}

function time(value: unknown, name: string): number {
  return integer(value, { name, least: 0, most: Number.MAX_SAFE_INTEGER / 1000 });
}

function integer(value: unknown, { name, least, most }: { readonly name: string; readonly least: number; readonly most: number }): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  return refuseToken(`its claim ${name} is not a whole number within its bounds`);
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : read(value);
}

function requireDistinct(values: readonly string[], name: string): readonly string[] {
  if (new Set(values).size < values.length) refuseToken(`its claim ${name} says something twice`);
  return values;
}

const MIN_TTL_MS = 60_000;
/** Longest lifetime of a token: 400 days. */
export const MAX_TTL_MS = LONGEST_TOKEN_SECONDS * 1_000;

/** Checks a token request. Returns its permissions, sorted and without duplicates. Throws VALIDATION_ERROR if a claim is invalid. */
export function checkTokenRequest(request: TokenRequest): readonly string[] {
  const { agentId, ttlMs, grant } = request;
  const names = agentId.split('/');
  if (names.length !== (grant ? 2 : 1) || !names.every((name) => AGENT_NAME.test(name)))
    refuseRequest(`The agent id ${JSON.stringify(agentId.slice(0, 80))} is not of the form ${AGENT_NAME.source}`);
  if (names.some(isNameOfOther)) refuseRequest(`The agent id ${agentId} means somebody else here; choose another`);
  if (!(ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS)) refuseRequest('A token lasts from 60 seconds to 400 days');
  checkLimits(request);
  return checkPermissions(request.permissions);
}

function checkLimits({ allowedNodes = [], maxHops = 0, rateLimit }: TokenRequest): void {
  const { allowedNodes: maxNodes, maxHops: mostHops, rateCalls, rateSeconds } = CLAIM_BOUNDS;
  if (allowedNodes.length > maxNodes) refuseRequest(`A token names at most ${maxNodes} hubs; leave them out to allow all`);
  if (!allowedNodes.every((node) => NODE_ID.test(node))) refuseRequest(`An id of a hub is of the form ${NODE_ID.source}`);
  if (!isIntegerWithin(maxHops, 0, mostHops)) refuseRequest(`max_hops is a whole number from 0 to ${mostHops}`);
  if (!rateLimit || (isIntegerWithin(rateLimit.calls, 1, rateCalls) && isIntegerWithin(rateLimit.seconds, 1, rateSeconds))) return;
  refuseRequest(`A rate is 1 to ${rateCalls} calls in 1 to ${rateSeconds} seconds`);
}

function checkPermissions(permissions: readonly string[]): readonly string[] {
  const distinct = [...new Set(permissions)].sort();
  if (distinct.length === 0) refuseRequest('A token without permissions is worth nothing; name at least one');
  if (distinct.length > CLAIM_BOUNDS.permissions)
    refuseRequest(`A token holds at most ${CLAIM_BOUNDS.permissions} permissions, not ${distinct.length}`);
  for (const permission of distinct) requireGrant(permission);
  return distinct;
}

function isIntegerWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function refuseRequest(message: string): never {
  throw new AtmoError('VALIDATION_ERROR', message);
}

/** Claims of a child token that are compared with the claims of its parent. */
export type NarrowedClaims = Omit<TokenClaims, 'issuedAt' | 'key' | 'id'>;

/** Returns a description of the first claim in which a child exceeds its parent; undefined if no claim does. */
export function excessOf(child: NarrowedClaims, parent: NarrowedClaims): string | undefined {
  if (child.issuer !== parent.subject) return 'its issuer is not the agent of the token that it comes from';
  if (!isChildId(child.subject, parent.subject)) return "its agent's id is not the parent's id, a slash and one name";
  if (child.meshId !== parent.meshId) return 'it is for another mesh than the token that it comes from';
  if (child.expiresAt > parent.expiresAt) return 'it lasts longer than the token that it comes from';
  if (parent.notBefore !== undefined && (child.notBefore ?? 0) < parent.notBefore) return 'it begins before the token that it comes from';
  if (!isSubset(child.audience, parent.audience)) return 'it is allowed on hubs where the token that it comes from is not';
  if (parent.maxHops !== undefined && !(child.maxHops !== undefined && child.maxHops <= parent.maxHops)) {
    return 'it may go further (max_hops) than the token that it comes from';
  }
  if (parent.rateLimit && !isSlower(child.rateLimit, parent.rateLimit)) return 'it may call more often than the token that it comes from';
  const beyond = excessPermissions(child.permissions, parent.permissions);
  return beyond.length > 0 ? 'it has permissions that the token it comes from has not' : undefined;
}

function isChildId(child: string, parent: string): boolean {
  return child.startsWith(`${parent}/`) && !child.slice(parent.length + 1).includes('/');
}

function isSubset(child: readonly string[] | undefined, parent: readonly string[] | undefined): boolean {
  return parent === undefined || (child?.every((node) => parent.includes(node)) ?? false);
}

/** Returns whether the child's rate limit is at most the parent's, both in burst and in rate. */
function isSlower(child: RateLimit | undefined, parent: RateLimit): boolean {
  return child !== undefined && child.calls <= parent.calls && child.calls * parent.seconds <= parent.calls * child.seconds;
}
