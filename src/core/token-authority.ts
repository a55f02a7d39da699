import type { Principal, RateLimit } from './principal.ts';

/** What a new token is to allow. */
export interface TokenRequest {
  /** `[a-z0-9][a-z0-9_.-]{0,63}`; for a child, the part after its parent's id. */
  readonly agentId: string;
  readonly permissions: readonly string[];
  readonly ttlMs: number;
  readonly maxHops?: number;
  readonly allowedNodes?: readonly string[];
  readonly rateLimit?: RateLimit;
  /** Raw Ed25519 key of the agent's own, base64url; the hub's when absent, and then the token is a bearer token here. */
  readonly key?: string;
  /** Role (named profile of the configuration) that the permissions came from; kept beside the token, not in it. */
  readonly role?: string;
}

/** A token that was just made: the only time its text is seen. */
export interface IssuedToken {
  readonly token: string;
  readonly principal: Principal;
}

/** What is known of a token that this hub made. */
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

/**
 * Port: makes and ends tokens. Errors: VALIDATION_ERROR (malformed request), PERMISSION_DENIED (more than the parent
 * has, or a parent whose key the hub does not hold), TOKEN_INVALID, TOKEN_EXPIRED, NOT_FOUND.
 */
export interface TokenAuthority {
  /** A token of its own for the owner, a child token for anybody else: never more than `by` has. */
  issue(request: TokenRequest, by: Principal): IssuedToken;
  /** The principal of a token's text, verified anew. */
  principalOf(token: string): Principal;
  /** Ends a token and all that come from it; false when it had ended already. Survives a restart. */
  revoke(tokenId: string): boolean;
  /** Hears each revocation; the answer stops it. */
  onRevoked(listener: (tokenId: string) => void): () => void;
  list(): readonly TokenRecord[];
}
