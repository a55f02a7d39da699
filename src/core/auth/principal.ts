import { AtmoError } from '../errors.ts';
import type { DeviceId, HubId } from '../ids.ts';
import type { JsonObject } from '../json.ts';

/** Rate limit of a token: a burst of up to `calls` calls. The allowance refills evenly, by `calls` every `seconds` seconds. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

/** A rate limit and what is left of it, in the form in which answers to clients have it. */
export interface RateAllowance {
  /** Calls that can be made at once now. */
  readonly left: number;
  /** Calls that can be made at once at most. */
  readonly calls: number;
  /** Seconds after which a used allowance is whole again. */
  readonly seconds: number;
}

/** Facts about a verified token, except its permissions. */
export interface TokenFacts {
  /** Id of the token, hex (`cti`, RFC 8392 §3.1.7). */
  readonly id: string;
  /** Ids of the tokens in the chain: the root token first, this token last. If any of them is revoked, this token ends. */
  readonly chain: readonly string[];
  /** Text of the token (`at1.…`), for calls to other hubs and for child tokens. It is never shown or logged. */
  readonly text: string;
  /** Expiry, milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Raw Ed25519 keys (32 bytes, base64url), root first: for each token of the chain, the key to which it is bound. */
  readonly keys: readonly string[];
  /** Ids of the only hubs on which the token may be used. If absent, the token may be used on every hub of the mesh. */
  readonly allowedNodes?: readonly string[];
  readonly maxHops?: number;
  /** Id of the grant of OAuth to which the token belongs. Its next tokens stand for the same access. */
  readonly grant?: string;
  /** Rate limits of all tokens in the chain. Each call counts towards all of these limits. */
  readonly rateLimits: readonly (RateLimit & { readonly tokenId: string })[];
}

/** The caller of a tool. It comes from the credential of a request, so that the request's body cannot change it. */
export interface Principal {
  /** `owner`, or an agent's id. The id of a child agent is `<parent's id>/<child's name>`. */
  readonly id: string;
  readonly kind: 'owner' | 'agent' | 'hub';
  /** Grants in the permission grammar; the owner has `*` and `admin:*`. */
  readonly permissions: readonly string[];
  /** The verified token; absent for the owner and for calls of the hub itself. */
  readonly token?: TokenFacts;
  /** For an automation of this hub: ids of those, beside its maker, who edited or accepted its definition. None of them approves its calls. */
  readonly authors?: readonly string[];
}

/** The owner of the hub, with all permissions. */
export const OWNER: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

/** Milliseconds by which the clocks of hubs may differ. Therefore a token is accepted for this long after its expiry. */
export const TOKEN_SKEW_MS = 60_000;

/**
 * Returns whether a token was refused because its time has not begun. The clock of the hub then shows a wrong time, or that of the issuer did;
 * the token becomes valid.
 */
export function isNotYetValid({ details }: Pick<AtmoError, 'details'>): boolean {
  return details.not_before !== undefined;
}

/** Returns a key that is unique to a principal. If an agent has the same id as the owner or a hub, their keys still differ. */
export function principalKey({ kind, id }: Pick<Principal, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

/** The credentials of a request. */
export interface Credentials {
  readonly bearer?: string;
  /** Proof of possession (COSE_Sign1, base64url). Needed if the token is bound to a key of the caller. */
  readonly proof?: string;
  /** The operation that the proof must name, such as `POST /api/v1/tools/echo/invoke`. */
  readonly operation: string;
}

/** An authenticated principal, with the hash of the body that its proof of possession covers. */
export interface Authenticated {
  readonly principal: Principal;
  /** SHA-256 (hex) that the request's body must have according to the proof; absent without a proof. */
  readonly contentSha256?: string;
}

/** Port: authenticates credentials and returns the principal. */
export interface Authenticator {
  /** Authenticates the caller. Rejects with UNAUTHENTICATED, TOKEN_INVALID or TOKEN_EXPIRED. */
  authenticate(credentials: Credentials): Promise<Authenticated>;
  /** Returns whether the principal's token is still valid. If not (it has expired or was revoked), its running calls must end. */
  isStillValid(principal: Principal): boolean;
}

/** Pattern of an agent's name. An agent of the owner has its name as id; a child agent has `<parent's id>/<name>` as id. */
export const AGENT_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

/** Names that stand for something other than an agent in the audit log and in events. No token has one. */
const NAMES_OF_OTHERS: ReadonlySet<string> = new Set(['owner', 'hub', 'nobody', 'replay']);
/** Names of the hub's own agents: the owner's page, previews of calls, and the bridge with the ecosystems that it serves. */
const NAMES_OF_HUB = /^(?:monitor|preview|bridge|ecosystem-\d+)$/;
/** Name under which the owner's sign-ins call. The id `owner` is only for the owner's token itself. */
export const OWNERS_AGENT = 'monitor';

/** Returns whether a name stands for something other than an agent, so that no token may have it. */
export function isNameOfOther(name: string): boolean {
  return NAMES_OF_OTHERS.has(name);
}

/** Returns whether a name means something in the hub itself, so that no person, application, automation or other agent may have it. */
export function isReservedName(name: string): boolean {
  return isNameOfOther(name) || NAMES_OF_HUB.test(name);
}

/** Throws VALIDATION_ERROR for a name that means something in the hub itself. */
export function requireUnreservedName(name: string): void {
  if (isReservedName(name)) throw new AtmoError('VALIDATION_ERROR', `${name} is a name that the hub uses itself; choose another name`);
}

/** Returns an agent's first ancestor, as an id or a `principalKey` like the argument. The ancestor and its descendants share limits. */
export function rootAgentOf(idOrKey: string): string {
  return idOrKey.split('/', 1)[0] ?? idOrKey;
}

/** Returns whether the agent `id` is the agent `ancestor` itself or one of its descendants. */
export function isSelfOrDescendant(id: string, ancestor: string): boolean {
  return id === ancestor || id.startsWith(`${ancestor}/`);
}

/**
 * Returns the id that this hub uses for an agent of another hub: `<name>@<hub id>`, or `<name>@<hub id>/<child>` for a child. The other
 * hub's `owner` is only an agent here. An id that already contains a hub's id is returned unchanged.
 */
export function foreignAgentId(id: string, hubId: string): string {
  const [root = id, ...children] = id.split('/');
  return root.includes('@') ? id : [`${root}@${hubId}`, ...children].join('/');
}

/**
 * Returns whether the agent is an application to which a person gave access by OAuth, or comes from one. Its root token is the only one whose
 * agent has the name of a person before its own: `ann/claude-ai`.
 */
export function isOfApplication({ id, token }: Principal): boolean {
  return token !== undefined && id.split('/').length > token.chain.length;
}

/** Returns the id of the hub to which an agent belongs, read from the agent's id; undefined for an agent of this hub. */
export function hubOfForeignAgent(id: string): string | undefined {
  const root = rootAgentOf(id);
  const at = root.indexOf('@');
  return at > 0 ? root.slice(at + 1) : undefined;
}

/** Degree of harm that an effect can cause; `dangerous` requires a person's approval. */
export type Risk = 'none' | 'low' | 'medium' | 'dangerous';

/** One effect of a call, with canonical ids. Each effect has its own risk and permission, independent of the tool. */
export interface Effect {
  /** Permission that the effect requires, such as `device:control:kitchen-light`. */
  readonly permission: string;
  readonly risk: Risk;
  /** For a device: `<device id>/<endpoint>/<cluster>/<command or attribute>`. Otherwise another name of the affected target. */
  readonly target: string;
  readonly device?: DeviceId;
  /** Values that the effect sets, with the names and units of the device's tools (°C, %): `{heating_setpoint: 21.5}`. */
  readonly values?: JsonObject;
  /** Names of values whose new content is unknown before the call. A deny or approve rule about them applies; an allow rule does not. */
  readonly unforeseen?: readonly string[];
}

/** A program that a call starts. */
export interface PlannedProgram {
  /** `cmd`: a command. `image`: a container image. `module`: a JavaScript module. `script`: an interpreted script. */
  readonly kind: 'cmd' | 'image' | 'module' | 'script';
  readonly program: string;
  /** Arguments of the program, with placeholders such as `{file}` for parameters that are not known yet. */
  readonly args: readonly string[];
  readonly cwd?: string;
  /** Rights from the owner's configuration, each with what it allows. If empty, the program can use nothing in the home. */
  readonly powers: readonly { readonly name: string; readonly allows: readonly string[] }[];
  /** Digests of the program's code, and versions of the writable files that its arguments name. */
  readonly versions: readonly string[];
}

/** The decision of an authorizer. A denial contains the missing permissions and the reason. */
export type Decision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly required: readonly string[]; readonly reason: string };

/** Port: decides what a principal may do and see. Expired and revoked tokens grant nothing. */
export interface Authorizer {
  /** Returns whether the principal has all of these permissions. */
  authorize(principal: Principal, permissions: readonly string[]): Decision;
  /** Returns whether the principal may do anything at all with the permission's resource. If not, the resource is hidden from it. */
  canSee(principal: Principal, permission: string): boolean;
  /** Returns whether the principal has `permission`. For a template (`device:control:{device_id}`), one possible resource is enough. */
  mayTry(principal: Principal, permission: string): boolean;
  /** Returns an authorizer for resources of other hubs. It uses the device types and areas that `hubs` announce. */
  elsewhere(hubs: () => readonly HubId[]): Authorizer;
}

const RISKS: readonly Risk[] = ['none', 'low', 'medium', 'dangerous'];

/** Returns the highest risk. */
export function maxRisk(...risks: readonly Risk[]): Risk {
  return RISKS.findLast((risk) => risks.includes(risk)) ?? 'none';
}

/** A call as the owner's rules judge it, with parsed values and canonical ids. */
export interface CallToJudge {
  readonly principal: Principal;
  readonly toolId: string;
  /** Former ids of the tool, and ids of tools that do the same in another way. A rule that names one of them also applies to this call. */
  readonly formerToolIds: readonly string[];
  readonly effects: readonly Effect[];
  readonly params: JsonObject;
}

/** The verdict of the owner's rules. Even after `allow`, a dangerous effect still requires its approval. */
export type RuleVerdict =
  | { readonly kind: 'allow'; readonly rule?: string }
  | { readonly kind: 'deny'; readonly rule: string; readonly reason: string }
  | { readonly kind: 'approve'; readonly rule: string; readonly persons: number };

/** Port: judges a call by the owner's rules. */
export interface RuleEngine {
  judge(call: CallToJudge): RuleVerdict;
}

/** Port: limits the rate of calls. */
export interface RateLimiter {
  /** Returns the limits that count the principal's calls, each with the calls that are left now. */
  left(principal: Principal): readonly RateAllowance[];
  /** Counts a call. Throws RATE_LIMITED if a limit of the token or an ancestor is exceeded; `details.retry_after_ms` says when to retry. */
  charge(principal: Principal): void;
}

/** Maximum lifetime of a token, and thus of its agent: 400 days. */
export const LONGEST_TOKEN_SECONDS = 400 * 86_400;

/** A request for a new token. */
export interface TokenRequest {
  /**
   * Name of the agent, which matches `AGENT_NAME`. The id of a child agent is the parent's id, a slash and this name. With `grant`, the name of
   * a person, a slash and the name of the application.
   */
  readonly agentId: string;
  readonly permissions: readonly string[];
  readonly ttlMs: number;
  readonly maxHops?: number;
  readonly allowedNodes?: readonly string[];
  readonly rateLimit?: RateLimit;
  /** Raw Ed25519 key of the agent in base64url. If absent, the token is bound to this hub's key and needs no proof on this hub. */
  readonly key?: string;
  /** Role (a named profile of the configuration) that the permissions came from. It is stored in the token's record, not in the token. */
  readonly role?: string;
  /** Id of the sign-in of a person that gets the token. It is stored in the token's record, not in the token. */
  readonly signIn?: string;
  /** Grant of OAuth to which the token belongs, and the name of its client. They are stored in the token's record, not in the token. */
  readonly grant?: { readonly id: string; readonly client: string };
}

/** A new token with its text, which the hub does not store. */
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
  /** Id of the person's sign-in that has the token. */
  readonly signIn?: string;
  /** Id of the grant of OAuth to which the token belongs. */
  readonly grant?: string;
  /** What the client of OAuth calls itself. */
  readonly client?: string;
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
  /** True if the token's text alone is enough. False if the caller must also prove possession of a key. */
  readonly isBearer: boolean;
}

/**
 * Port: issues and revokes tokens. Throws VALIDATION_ERROR (malformed request), PERMISSION_DENIED (the request exceeds what the parent may
 * do, or the hub lacks the parent's key), TOKEN_INVALID or TOKEN_EXPIRED (unusable token).
 */
export interface TokenAuthority {
  /** Issues a root token if `by` is the owner, else a child of the token of `by`. The token never permits more than `by` may do. */
  issue(request: TokenRequest, by: Principal): IssuedToken;
  /** Verifies the text of a token and returns its principal. */
  principalOf(token: string): Principal;
  /** Reads a token whose signatures are valid, even if it has expired or was revoked. Throws TOKEN_INVALID if a signature is invalid. */
  inspect(token: string): TokenInspection;
  /** Revokes a token (id: 32 hex digits) permanently, and with it all its descendants. Returns false if it was revoked before. */
  revoke(tokenId: string): boolean;
  /** Calls `listener` for each token that this hub revokes; the returned function unsubscribes. */
  onRevoked(listener: (tokenId: string) => void): () => void;
  /** Returns the record of a token. If its revocation was stored without it, tries to store it in the record too; a disk that refuses is no error. */
  find(tokenId: string): TokenRecord | undefined;
  /** Returns the records, newest first, each as `find` does. */
  list(): readonly TokenRecord[];
}

/** A hub for which the mesh has a valid certificate. */
export interface TrustedHub {
  /** Raw Ed25519 key, 32 bytes, base64url. */
  readonly key: string;
  /** Upper limit for the tokens that the trusted hub issues: they never permit more than these grants. */
  readonly permissions: readonly string[];
}

/** Port: the other hubs that this hub trusts. A hub with an expired or revoked certificate is not trusted. */
export interface MeshTrust {
  /** Returns the id of the mesh; undefined while the hub is in no mesh. */
  meshId(): string | undefined;
  /** Returns the hub with this id if it is trusted, otherwise undefined. */
  hub(id: string): TrustedHub | undefined;
}

/** Pattern of a challenge: 32 random bytes in base64url, which the caller generates for each request. */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Returns the bytes that a hub signs to prove its identity to a caller. They contain the port, so that a program on another port cannot use
 * the hub's signature as its own. Tokens and approvals begin with other bytes, so the signature is not valid for them.
 */
export function challengeStatement(port: number, challenge: string): Uint8Array {
  return new TextEncoder().encode(`atmosphere-edge hub challenge v1\n${port}\n${challenge}`);
}
