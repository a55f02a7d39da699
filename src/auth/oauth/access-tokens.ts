import { isOfApplication, type Principal, TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';

/** The access token of a grant. */
export interface GrantedToken {
  readonly grantId: string;
  /** Paths of the hub for which the token is good, and all below them. */
  readonly paths: readonly string[];
  readonly expiresAtMs: number;
}

/**
 * Knows which tokens belong to a grant of OAuth, and for which addresses of the hub each is good (RFC 8707 §2.2). A token of an application
 * whose grant this hub does not know is good for no address; it comes from another hub, or from a state that was restored since.
 */
export class GrantedTokens {
  readonly #tokens = new Map<string, GrantedToken>();
  /** Ids of the tokens of each grant, the oldest first. */
  readonly #ofGrants = new Map<string, Set<string>>();
  readonly #listeners = new Set<(tokenId: string, grantId: string) => void>();
  /** Principals with their grants, cached so that each request gets the same object. */
  readonly #marked = new WeakMap<Principal, Principal>();

  /** Adds a token, and forgets those that have expired. */
  add(tokenId: string, token: GrantedToken, nowMs: number): void {
    for (const [id, { expiresAtMs }] of this.#tokens) if (expiresAtMs + 2 * TOKEN_SKEW_MS < nowMs) this.#forget(id);
    this.#tokens.set(tokenId, token);
    const ofGrant = this.#ofGrants.get(token.grantId) ?? new Set();
    this.#ofGrants.set(token.grantId, ofGrant.add(tokenId));
  }

  /** Returns the ids of a grant's tokens, the oldest first. */
  of(grantId: string): readonly string[] {
    return [...(this.#ofGrants.get(grantId) ?? [])];
  }

  /**
   * Returns the principal, with its grant if its token belongs to one. Throws TOKEN_INVALID if the token, or the one that it comes from,
   * belongs to a grant for another address than that of the operation, which is written like `POST /mcp`, or to a grant that is not known here.
   * Otherwise calls the listeners.
   */
  admit(principal: Principal, operation: string): Principal {
    const root = principal.token?.chain[0] ?? '';
    const token = this.#tokens.get(root);
    if (!token && isOfApplication(principal)) {
      throw new AtmoError(
        'TOKEN_INVALID',
        'The token was given to an application by another hub, or its access has ended; ask there again',
      );
    }
    if (!token) return principal;
    const path = operation.slice(operation.indexOf(' ') + 1).replace(/[?#].*$/s, '');
    if (!token.paths.some((own) => path === own || path.startsWith(`${own}/`))) {
      const message = `The token was given for ${token.paths.join(' and ')} of this hub and is good for nothing else`;
      throw new AtmoError('TOKEN_INVALID', message, { good_for: token.paths });
    }
    for (const listener of this.#listeners) listener(root, token.grantId);
    return this.#withGrant(principal, token.grantId);
  }

  #forget(tokenId: string): void {
    const grantId = this.#tokens.get(tokenId)?.grantId ?? '';
    this.#tokens.delete(tokenId);
    const ofGrant = this.#ofGrants.get(grantId);
    ofGrant?.delete(tokenId);
    if (ofGrant?.size === 0) this.#ofGrants.delete(grantId);
  }

  /** A token that an agent has derived stands for itself alone: it is not renewed with the grant. */
  #withGrant(principal: Principal, grant: string): Principal {
    const { token } = principal;
    if (token?.chain.length !== 1) return principal;
    const marked = this.#marked.get(principal) ?? { ...principal, token: { ...token, grant } };
    this.#marked.set(principal, marked);
    return marked;
  }

  /** Calls the listener with each use of a token of a grant. */
  onUsed(listener: (tokenId: string, grantId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
