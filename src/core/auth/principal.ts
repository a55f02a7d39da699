/** How often a token may call: `calls` at once, and as many more in every `seconds`, refilled evenly. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

/** What a verified token says about its bearer, beyond the permissions. */
export interface TokenFacts {
  /** Id of the token itself, hex (`cti`, RFC 8392 §3.1.7). */
  readonly id: string;
  /** Ids of the tokens that it comes from, root first, itself last. Revoking any of them ends it. */
  readonly chain: readonly string[];
  /** `at1.` text for the mesh and for child tokens; never shown or logged. */
  readonly text: string;
  /** When it ends, milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Raw Ed25519 keys (32 bytes, base64url) that the tokens of the chain are bound to, root first. */
  readonly keys: readonly string[];
  /** Hubs that may act for it, by id; absent = every hub of this mesh. */
  readonly allowedNodes?: readonly string[];
  readonly maxHops?: number;
  /** The limits of the whole chain: a call is charged to each. */
  readonly rateLimits: readonly (RateLimit & { readonly tokenId: string })[];
}

/** Who calls. Doors make one from a credential; nothing in a request's body can change it. */
export interface Principal {
  /** `owner`, or an agent's id; a child's id is its parent's, a slash and a name of its own. */
  readonly id: string;
  readonly kind: 'owner' | 'agent' | 'hub';
  /** Grants as in the permission grammar; the owner holds `*` and `admin:*`. */
  readonly permissions: readonly string[];
  /** Absent for the owner and inside the hub. */
  readonly token?: TokenFacts;
}

/** How far apart the clocks of hubs may be: a token counts for this long after its end, in milliseconds. */
export const TOKEN_SKEW_MS = 60_000;

/** Tells principals apart also where an agent has the id of the owner or of a hub. */
export function principalKey({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}

/** What a caller brought with a request. */
export interface Credentials {
  readonly bearer?: string;
  /** Proof of possession (COSE_Sign1, base64url) for a token that is bound to a key of the caller's own. */
  readonly proof?: string;
  /** What the proof has to be about, such as `POST /api/v1/tools/echo/invoke`. */
  readonly operation: string;
}

/** A principal, and what its proof of possession said of the content that follows. */
export interface Authenticated {
  readonly principal: Principal;
  /** SHA-256, hex, that the bytes of the request's body must have; absent without a proof. */
  readonly contentSha256?: string;
}

/** Port: turns credentials into a principal. */
export interface Authenticator {
  /** Throws UNAUTHENTICATED, TOKEN_INVALID or TOKEN_EXPIRED. */
  authenticate(credentials: Credentials): Promise<Authenticated>;
  /** False from the moment on at which the principal's token expired or was revoked: what still runs for it has to end. */
  isStillValid(principal: Principal): boolean;
}

/** The name of an agent: its whole id when the owner made it, and what comes after its parent's id and a slash otherwise. */
export const AGENT_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

/** The first of a line of agents, from an id or a `principalKey`. An agent and all that come from it share every bound. */
export function rootAgentOf(idOrKey: string): string {
  return idOrKey.split('/', 1)[0] ?? idOrKey;
}

/** True for the agent itself and for every agent that comes from it. */
export function isSelfOrDescendant(id: string, ancestor: string): boolean {
  return id === ancestor || id.startsWith(`${ancestor}/`);
}

/**
 * An agent whose token another hub issued is `<name>@<hub id>`, its children `<name>@<hub id>/<child>`: the names are that
 * hub's, and even its `owner` is an agent here. No agent of this hub has an `@` in its name. One that has its hub already is
 * answered as it is.
 */
export function foreignAgentId(id: string, hubId: string): string {
  const [root = id, ...children] = id.split('/');
  return root.includes('@') ? id : [`${root}@${hubId}`, ...children].join('/');
}

/** The hub of a guest's id; undefined for an agent of this hub. */
export function hubOfForeignAgent(id: string): string | undefined {
  const root = rootAgentOf(id);
  const at = root.indexOf('@');
  return at > 0 ? root.slice(at + 1) : undefined;
}
