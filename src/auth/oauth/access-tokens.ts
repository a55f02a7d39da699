import type { TokenFacts } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';

/** The access token of a grant. */
export interface GrantedToken {
  readonly grantId: string;
  /** Paths of the hub for which the token is good, and all below them. */
  readonly paths: readonly string[];
  readonly expiresAtMs: number;
}

/**
 * Knows which tokens belong to a grant of OAuth, and for which addresses of the hub each is good (RFC 8707 §2.2). All other tokens are good
 * for every address.
 */
export class GrantedTokens {
  readonly #tokens = new Map<string, GrantedToken>();
  readonly #listeners = new Set<(tokenId: string, grantId: string) => void>();

  /** Adds a token, and forgets those that have expired. */
  add(tokenId: string, token: GrantedToken, nowMs: number): void {
    for (const [id, { expiresAtMs }] of this.#tokens) if (expiresAtMs + MARGIN_MS < nowMs) this.#tokens.delete(id);
    this.#tokens.set(tokenId, token);
  }

  /** Returns the ids of a grant's tokens. */
  of(grantId: string): readonly string[] {
    return [...this.#tokens].flatMap(([id, token]) => (token.grantId === grantId ? [id] : []));
  }

  /**
   * Throws TOKEN_INVALID if the token, or the one that it comes from, belongs to a grant for another address than that of the operation,
   * which is written like `POST /mcp`. Otherwise calls the listeners.
   */
  admit({ chain }: Pick<TokenFacts, 'chain'>, operation: string): void {
    const root = chain[0] ?? '';
    const token = this.#tokens.get(root);
    if (!token) return;
    const path = operation.slice(operation.indexOf(' ') + 1).replace(/[?#].*$/s, '');
    if (!token.paths.some((own) => path === own || path.startsWith(`${own}/`))) {
      throw new AtmoError('TOKEN_INVALID', `The token was given for ${token.paths.join(' and ')} of this hub and is good for nothing else`);
    }
    for (const listener of this.#listeners) listener(root, token.grantId);
  }

  /** Calls the listener with each use of a token of a grant. */
  onUsed(listener: (tokenId: string, grantId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** A token is accepted for some time after its expiry, because clocks differ. */
const MARGIN_MS = 120_000;
