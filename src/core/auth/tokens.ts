import type { Principal, RateLimit, TokenFacts } from './principal.ts';

/** Longest life of a token, and of its agent: 400 days. */
export const LONGEST_TOKEN_SECONDS = 400 * 86_400;

/** A request for a new token. */
export interface TokenRequest {
  /** `AGENT_NAME`; for a child, the part after its parent's id. */
  readonly agentId: string;
  readonly permissions: readonly string[];
  readonly ttlMs: number;
  readonly maxHops?: number;
  readonly allowedNodes?: readonly string[];
  readonly rateLimit?: RateLimit;
  /** Raw Ed25519 key of the agent, base64url. Without one the token is bound to the hub's key and is a bearer token on this hub. */
  readonly key?: string;
  /** Role (named profile of the configuration) that the permissions came from; kept beside the token, not in it. */
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

/** The content of a token's text, and whether the token may be used on this hub now. */
export interface TokenInspection {
  readonly state: 'valid' | 'expired' | 'revoked' | 'unusable';
  /** Why the token may not be used; absent while it is valid. */
  readonly reason?: string;
  readonly principal: Principal & { readonly token: TokenFacts };
  readonly issuer: string;
  readonly issuedAtMs: number;
  readonly notBeforeMs: number;
  /** True when the text alone suffices to use the token; false when its bearer has to prove possession of a key. */
  readonly isBearer: boolean;
}

/**
 * Port: issues and revokes tokens. Errors: VALIDATION_ERROR (malformed request), PERMISSION_DENIED (more than the parent
 * has, or a parent whose key the hub does not hold), TOKEN_INVALID, TOKEN_EXPIRED, NOT_FOUND.
 */
export interface TokenAuthority {
  /** Issues a root token for the owner, a child token for any other principal: never with more permissions than `by` has. */
  issue(request: TokenRequest, by: Principal): IssuedToken;
  /** The principal of a token's text, verified anew. */
  principalOf(token: string): Principal;
  /** Reads a token whose signatures are valid, also after its end; throws TOKEN_INVALID when they are not. */
  inspect(token: string): TokenInspection;
  /** Revokes a token (id: 32 hex digits), recorded here or not, and its descendants, for good; false when it was revoked already. */
  revoke(tokenId: string): boolean;
  /** Calls `listener` at each revocation; the returned function unsubscribes. */
  onRevoked(listener: (tokenId: string) => void): () => void;
  /** The record of one token that this hub issued. */
  find(tokenId: string): TokenRecord | undefined;
  /** Newest first. */
  list(): readonly TokenRecord[];
}

/** A hub that the mesh vouches for. */
export interface TrustedHub {
  /** Raw Ed25519 key, 32 bytes, base64url. */
  readonly key: string;
  /** Grants that tokens issued by the hub may hold at most, as in the permission grammar. */
  readonly permissions: readonly string[];
}

/** Port: the other hubs that this hub trusts. A certificate that expired or was revoked vouches for no hub. */
export interface MeshTrust {
  /** Undefined while the hub is in no mesh. */
  meshId(): string | undefined;
  /** Undefined for a hub that no certificate vouches for now. */
  hub(id: string): TrustedHub | undefined;
}

/** 32 random bytes in base64url, which a caller makes anew each time. */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * The bytes that a hub signs with its key to prove its identity to a caller. They contain the port, so that a program on another port
 * cannot relay the challenge to the hub. No token or approval of the hub begins like this.
 */
export function challengeStatement(port: number, challenge: string): Uint8Array {
  return Buffer.from(`atmosphere-edge hub challenge v1\n${port}\n${challenge}`, 'utf8');
}
