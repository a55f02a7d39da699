import type { DeviceId, HubId } from '../ids.ts';
import type { JsonObject } from '../json.ts';

/** Rate limit of a token: a burst of `calls`, refilled evenly by `calls` in each period of `seconds`. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

/** Claims of a verified token, except the permissions. */
export interface TokenFacts {
  /** Id of the token, hex (`cti`, RFC 8392 §3.1.7). */
  readonly id: string;
  /** Ids of the tokens in the chain, root first, this token last. The revocation of any of them ends this token. */
  readonly chain: readonly string[];
  /** Text of the token, `at1.…`, for the mesh and for child tokens; it is never shown or logged. */
  readonly text: string;
  /** Expiry, milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Raw Ed25519 keys (32 bytes, base64url) to which the tokens of the chain are bound, root first. */
  readonly keys: readonly string[];
  /** Ids of the only hubs on which the token may be used. If absent, the token may be used on every hub of the mesh. */
  readonly allowedNodes?: readonly string[];
  readonly maxHops?: number;
  /** Rate limits of all tokens in the chain. Each call counts towards all of these limits. */
  readonly rateLimits: readonly (RateLimit & { readonly tokenId: string })[];
}

/** The caller of a tool. An endpoint derives it from a credential, so the body of a request cannot change it. */
export interface Principal {
  /** `owner`, or an agent's id; a child's id is its parent's id, a slash and the child's name. */
  readonly id: string;
  readonly kind: 'owner' | 'agent' | 'hub';
  /** Grants in the permission grammar; the owner has `*` and `admin:*`. */
  readonly permissions: readonly string[];
  /** The verified token; absent for the owner and for calls of the hub itself. */
  readonly token?: TokenFacts;
}

/** Milliseconds by which clocks of hubs may differ. A token is accepted for this long after its expiry. */
export const TOKEN_SKEW_MS = 60_000;

/** Returns a key that is unique to a principal, even if an agent has the id of the owner or of a hub. */
export function principalKey({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}

/** The credentials of a request. */
export interface Credentials {
  readonly bearer?: string;
  /** Proof of possession (COSE_Sign1, base64url) for a token that is bound to a key of the caller. */
  readonly proof?: string;
  /** The operation that the proof must name, such as `POST /api/v1/tools/echo/invoke`. */
  readonly operation: string;
}

/** An authenticated principal, and the content that its proof of possession covers. */
export interface Authenticated {
  readonly principal: Principal;
  /** SHA-256 (hex) that the request's body must have; absent without a proof. */
  readonly contentSha256?: string;
}

/** Port: authenticates credentials and returns the principal. */
export interface Authenticator {
  /** Authenticates the caller. Rejects with UNAUTHENTICATED, TOKEN_INVALID or TOKEN_EXPIRED. */
  authenticate(credentials: Credentials): Promise<Authenticated>;
  /** Returns whether the principal's token is still valid. If it has expired or was revoked, running calls must end. */
  isStillValid(principal: Principal): boolean;
}

/** Pattern of an agent's name. The id of an agent that the owner created is its name; a child's id is `<parent's id>/<name>`. */
export const AGENT_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

/** Returns the id (or `principalKey`) of the first ancestor of an agent. An agent and all its descendants share their limits. */
export function rootAgentOf(idOrKey: string): string {
  return idOrKey.split('/', 1)[0] ?? idOrKey;
}

/** Returns true for the agent itself and for its descendants. */
export function isSelfOrDescendant(id: string, ancestor: string): boolean {
  return id === ancestor || id.startsWith(`${ancestor}/`);
}

/**
 * Returns the id that this hub uses for an agent whose token another hub issued: `<name>@<hub id>`, or `<name>@<hub id>/<child>` for a
 * child. The `owner` of the other hub becomes an agent too. Names of own agents contain no `@`. An id with a hub is returned unchanged.
 */
export function foreignAgentId(id: string, hubId: string): string {
  const [root = id, ...children] = id.split('/');
  return root.includes('@') ? id : [`${root}@${hubId}`, ...children].join('/');
}

/** Returns the hub in the id of a foreign agent; undefined for an agent of this hub. */
export function hubOfForeignAgent(id: string): string | undefined {
  const root = rootAgentOf(id);
  const at = root.indexOf('@');
  return at > 0 ? root.slice(at + 1) : undefined;
}

/** Degree of harm that an effect can cause; `dangerous` requires a person's approval. */
export type Risk = 'none' | 'low' | 'medium' | 'dangerous';

/** One effect of a call; its ids are canonical. Risk and permission belong to the effect, not to the tool. */
export interface Effect {
  /** Permission that the effect requires, such as `device:control:kitchen-light`. */
  readonly permission: string;
  readonly risk: Risk;
  /** `<device id>/<endpoint>/<cluster>/<command or attribute>`, or another name of the affected target. */
  readonly target: string;
  readonly device?: DeviceId;
  /** Values that the effect sets, with the names and units of the device's tools (°C, %): `{heating_setpoint: 21.5}`. */
  readonly values?: JsonObject;
  /** Names of values whose new content is unknown before the call runs. A rule about such a value assumes the worst. */
  readonly unforeseen?: readonly string[];
}

/** A program that a call starts. */
export interface PlannedProgram {
  /** A command, an image of a container, a module of JavaScript, or an interpreted script. */
  readonly kind: 'cmd' | 'image' | 'module' | 'script';
  readonly program: string;
  /** Arguments of the program, with placeholders such as `{file}` for parameters that are not known yet. */
  readonly args: readonly string[];
  readonly cwd?: string;
  /** What the owner permits the program to use, each with a description. If empty, the program can use nothing in the home. */
  readonly powers: readonly { readonly name: string; readonly allows: readonly string[] }[];
  /** Digests of the program's code and of the writable files among its arguments. */
  readonly versions: readonly string[];
}

/** The decision of an authorizer; a denial names the missing permissions and the reason. */
export type Decision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly required: readonly string[]; readonly reason: string };

/** Port: decides what a principal may do and see. Expired and revoked tokens grant nothing. */
export interface Authorizer {
  /** Returns whether the principal has all of these permissions. */
  authorize(principal: Principal, permissions: readonly string[]): Decision;
  /** Returns whether the principal has a grant for any action on the permission's resource. If not, the resource is hidden. */
  canSee(principal: Principal, permission: string): boolean;
  /** Returns whether the principal has `permission` for some resource. `permission` may be a template: `device:control:{device_id}`. */
  mayTry(principal: Principal, permission: string): boolean;
  /**
   * Returns an authorizer for resources of the given hubs. It uses the device types and areas that these hubs announce. Without this
   * method, the authorizer itself decides about resources of other hubs.
   */
  elsewhere?(hubs: () => readonly HubId[]): Authorizer;
}

const RISKS: readonly Risk[] = ['none', 'low', 'medium', 'dangerous'];

/** Returns the highest risk. */
export function maxRisk(...risks: readonly Risk[]): Risk {
  return RISKS.findLast((risk) => risks.includes(risk)) ?? 'none';
}

/** A call in the form that the owner's rules judge: with parsed values and canonical ids. */
export interface RuledCall {
  readonly principal: Principal;
  readonly toolId: string;
  /** Former ids of the tool. A rule with a former id also applies. */
  readonly formerToolIds: readonly string[];
  readonly effects: readonly Effect[];
  readonly params: JsonObject;
}

/** The verdict of the owner's rules. `allow` never replaces the approval that a dangerous effect requires. */
export type RuleVerdict =
  | { readonly kind: 'allow'; readonly rule?: string }
  | { readonly kind: 'deny'; readonly rule: string; readonly reason: string }
  | { readonly kind: 'approve'; readonly rule: string; readonly persons: number };

/** Port: judges a call by the owner's rules. */
export interface RuleEngine {
  judge(call: RuledCall): RuleVerdict;
}

/** Port: limits the rate of calls. */
export interface RateLimiter {
  /** Counts a call. Throws RATE_LIMITED, with `details.retry_after_ms`, if the limit of the token or of an ancestor is exceeded. */
  charge(principal: Principal): void;
}

/** Longest lifetime of a token and of its agent: 400 days. */
export const LONGEST_TOKEN_SECONDS = 400 * 86_400;

/** A request for a new token. */
export interface TokenRequest {
  /** Name of the agent in the form `AGENT_NAME`; for a child agent, the part after the parent's id. */
  readonly agentId: string;
  readonly permissions: readonly string[];
  readonly ttlMs: number;
  readonly maxHops?: number;
  readonly allowedNodes?: readonly string[];
  readonly rateLimit?: RateLimit;
  /** Raw Ed25519 key of the agent in base64url. Without it the token is bound to the hub's key, and needs no proof on this hub. */
  readonly key?: string;
  /** Role from which the permissions came (a named profile of the configuration); stored with the token's record, not in the token. */
  readonly role?: string;
}

/** A new token; its text is returned only here. */
export interface IssuedToken {
  readonly token: string;
  readonly principal: Principal;
}

/** The record of a token that this hub issued. */
export interface TokenRecord {
  readonly id: string;
  readonly agentId: string;
  readonly permissions: readonly string[];
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  readonly issuedBy: string;
  readonly role?: string;
  readonly parent?: string;
  readonly revokedAtMs?: number;
}

/** The claims in a token's text, and whether the token may be used on this hub now. */
export interface TokenInspection {
  readonly state: 'valid' | 'expired' | 'revoked' | 'unusable';
  /** Reason why the token may not be used; absent if it is valid. */
  readonly reason?: string;
  readonly principal: Principal & { readonly token: TokenFacts };
  readonly issuer: string;
  readonly issuedAtMs: number;
  readonly notBeforeMs: number;
  /** True if the token's text is sufficient; false if its bearer must prove possession of a key. */
  readonly isBearer: boolean;
}

/**
 * Port: issues and revokes tokens. Throws VALIDATION_ERROR (the request is malformed), PERMISSION_DENIED (it asks for more than the parent
 * has, or the hub lacks the parent's key), TOKEN_INVALID, TOKEN_EXPIRED or NOT_FOUND.
 */
export interface TokenAuthority {
  /** Issues a root token for the owner, and a child token for any other principal. The token never has more permissions than `by`. */
  issue(request: TokenRequest, by: Principal): IssuedToken;
  /** Verifies a token's text again and returns its principal. */
  principalOf(token: string): Principal;
  /** Reads a token with valid signatures, also after its expiry. Throws TOKEN_INVALID if a signature is invalid. */
  inspect(token: string): TokenInspection;
  /** Revokes a token (id: 32 hex digits) and its descendants permanently. Returns false if it was already revoked. */
  revoke(tokenId: string): boolean;
  /** Calls `listener` at each revocation; the returned function unsubscribes. */
  onRevoked(listener: (tokenId: string) => void): () => void;
  find(tokenId: string): TokenRecord | undefined;
  /** Returns the records, newest first. */
  list(): readonly TokenRecord[];
}

/** A hub for which the mesh has a valid certificate. */
export interface TrustedHub {
  /** Raw Ed25519 key, 32 bytes, base64url. */
  readonly key: string;
  /** Tokens that this hub issues never permit more than these grants. */
  readonly permissions: readonly string[];
}

/** Port: the other hubs that this hub trusts. A hub with an expired or revoked certificate is not trusted. */
export interface MeshTrust {
  /** Returns the id of the mesh; undefined while the hub is in no mesh. */
  meshId(): string | undefined;
  /** Returns a trusted hub; undefined for a hub without a valid certificate. */
  hub(id: string): TrustedHub | undefined;
}

/** Pattern of a challenge: 32 random bytes in base64url, which the caller generates for each request. */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Returns the bytes that a hub signs to prove its identity to a caller. They contain the port, so that a program on another port cannot
 * relay the challenge to the hub. No token or approval begins with these bytes, so the signature cannot be used for one.
 */
export function challengeStatement(port: number, challenge: string): Uint8Array {
  return new TextEncoder().encode(`atmosphere-edge hub challenge v1\n${port}\n${challenge}`);
}
