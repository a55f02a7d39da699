import type { Principal, RateLimit, TokenFacts } from './principal.ts';

/** The longest that a token lasts, and an agent with it: 400 days. */
export const LONGEST_TOKEN_SECONDS = 400 * 86_400;

/** What a new token is to allow. */
export interface TokenRequest {
  /** `AGENT_NAME`; for a child, the part after its parent's id. */
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

/** What a token's text says of itself, and whether it may be used on this hub now. */
export interface TokenInspection {
  readonly state: 'valid' | 'expired' | 'revoked' | 'unusable';
  /** Why it may not be used; absent while it is valid. */
  readonly reason?: string;
  readonly principal: Principal & { readonly token: TokenFacts };
  readonly issuer: string;
  readonly issuedAtMs: number;
  readonly notBeforeMs: number;
  /** True when nothing but the text is needed to use it; false when its bearer has to prove to hold a key. */
  readonly isBearer: boolean;
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
  /** What a token says whose signatures hold, also when it has ended; TOKEN_INVALID when they do not. */
  inspect(token: string): TokenInspection;
  /** Ends a token (id: 32 hex digits), known here or not, and all that come from it; false when it had been revoked already. Survives a restart. */
  revoke(tokenId: string): boolean;
  /** Hears each revocation; the answer stops it. */
  onRevoked(listener: (tokenId: string) => void): () => void;
  /** What is known of one token that this hub made. */
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

/** Port: whom this hub believes beyond itself. A certificate that expired or was revoked vouches for nobody. */
export interface MeshTrust {
  /** Undefined while the hub is in no mesh. */
  meshId(): string | undefined;
  /** Undefined for a hub that no certificate vouches for now. */
  hub(id: string): TrustedHub | undefined;
}

/** 32 random bytes in base64url, which a caller makes anew each time. */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * What a hub signs with its key to show a caller that it is the one. The port is part of it: who listens elsewhere cannot
 * hand the challenge on to the hub and the answer back. No token or approval of the hub begins like this.
 */
export function challengeStatement(port: number, challenge: string): Uint8Array {
  return Buffer.from(`atmosphere-edge hub challenge v1\n${port}\n${challenge}`, 'utf8');
}
