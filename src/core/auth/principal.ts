/** Rate limit of a token: `calls` at once, and as many again in every `seconds`, refilled evenly. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

/** Claims of a verified token, except the permissions. */
export interface TokenFacts {
  /** Id of the token itself, hex (`cti`, RFC 8392 §3.1.7). */
  readonly id: string;
  /** Ids of the tokens of its chain, root first, its own last. The revocation of any of them ends the token. */
  readonly chain: readonly string[];
  /** The token itself, `at1.…`, for the mesh and for child tokens; never shown or logged. */
  readonly text: string;
  /** Expiry, milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Raw Ed25519 keys (32 bytes, base64url) that the tokens of the chain are bound to, root first. */
  readonly keys: readonly string[];
  /** Hubs that may act for it, by id; absent = every hub of this mesh. */
  readonly allowedNodes?: readonly string[];
  readonly maxHops?: number;
  /** The limits of the whole chain: a call is charged to each. */
  readonly rateLimits: readonly (RateLimit & { readonly tokenId: string })[];
}

/** The caller, made by an endpoint from a credential; nothing in a request's body can change it. */
export interface Principal {
  /** `owner`, or an agent's id; a child's id is its parent's, a slash and a name of its own. */
  readonly id: string;
  readonly kind: 'owner' | 'agent' | 'hub';
  /** Grants as in the permission grammar; the owner holds `*` and `admin:*`. */
  readonly permissions: readonly string[];
  /** Absent for the owner and inside the hub. */
  readonly token?: TokenFacts;
}

/** Milliseconds by which the clocks of hubs may differ: a token stays valid for this long after its expiry. */
export const TOKEN_SKEW_MS = 60_000;

/** Unique key of a principal, also where an agent has the id of the owner or of a hub. */
export function principalKey({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}

/** The credentials of a request. */
export interface Credentials {
  readonly bearer?: string;
  /** Proof of possession (COSE_Sign1, base64url) for a token that is bound to a key of the caller. */
  readonly proof?: string;
  /** The operation that the proof has to name, such as `POST /api/v1/tools/echo/invoke`. */
  readonly operation: string;
}

/** A principal, and the content that its proof of possession covers. */
export interface Authenticated {
  readonly principal: Principal;
  /** SHA-256, hex, that the bytes of the request's body must have; absent without a proof. */
  readonly contentSha256?: string;
}

/** Port: turns credentials into a principal. */
export interface Authenticator {
  /** Throws UNAUTHENTICATED, TOKEN_INVALID or TOKEN_EXPIRED. */
  authenticate(credentials: Credentials): Promise<Authenticated>;
  /** False once the principal's token has expired or was revoked: calls that still run for it have to end. */
  isStillValid(principal: Principal): boolean;
}

/** The name of an agent: its whole id when the owner made it, else the part after its parent's id and a slash. */
export const AGENT_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

/** The root of a line of agents, from an id or a `principalKey`. An agent and its descendants share every bound. */
export function rootAgentOf(idOrKey: string): string {
  return idOrKey.split('/', 1)[0] ?? idOrKey;
}

/** True for the agent itself and for its descendants. */
export function isSelfOrDescendant(id: string, ancestor: string): boolean {
  return id === ancestor || id.startsWith(`${ancestor}/`);
}

/**
 * An agent whose token another hub issued is `<name>@<hub id>`, its children `<name>@<hub id>/<child>`: the names are that
 * hub's, and even its `owner` is an agent here. No agent of this hub has an `@` in its name. An id that names a hub already is
 * returned unchanged.
 */
export function foreignAgentId(id: string, hubId: string): string {
  const [root = id, ...children] = id.split('/');
  return root.includes('@') ? id : [`${root}@${hubId}`, ...children].join('/');
}

/** The hub in the id of a foreign agent; undefined for an agent of this hub. */
export function hubOfForeignAgent(id: string): string | undefined {
  const root = rootAgentOf(id);
  const at = root.indexOf('@');
  return at > 0 ? root.slice(at + 1) : undefined;
}
