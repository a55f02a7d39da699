import type { Principal, TokenRecord, TokenRequest } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { ManualClock } from '../manual-clock.ts';

/** Tokens without signatures: those that were issued, and those of them that were revoked. */
export class FakeTokens {
  readonly records = new Map<string, TokenRecord & { readonly principal: Principal }>();
  readonly #clock: ManualClock;
  readonly #listeners = new Set<(id: string) => void>();

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  issue({ agentId, permissions, ttlMs }: TokenRequest, by: Principal) {
    const id = `token-${this.records.size + 1}`;
    const expiresAtMs = this.#clock.now() + ttlMs;
    const facts = { id, chain: [id], text: `text of ${id}`, expiresAtMs, keys: [], rateLimits: [] };
    const principal: Principal = { id: agentId, kind: 'agent', permissions, token: facts };
    this.records.set(id, { id, agentId, permissions, issuedAtMs: 0, expiresAtMs, issuedBy: by.id, principal });
    return { token: facts.text, principal };
  }

  principalOf(text: string): Principal {
    const record = this.records.get(text.replace('text of ', ''));
    if (!record || record.revokedAtMs !== undefined) throw new AtmoError('TOKEN_INVALID', 'revoked');
    return record.principal;
  }

  revoke(id: string): boolean {
    const record = this.records.get(id);
    if (record) this.records.set(id, { ...record, revokedAtMs: 1 });
    for (const listener of this.#listeners) listener(id);
    return record !== undefined;
  }

  onRevoked(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  find(id: string): TokenRecord | undefined {
    return this.records.get(id);
  }

  list(): readonly TokenRecord[] {
    return [...this.records.values()];
  }

  valid(): readonly string[] {
    return [...this.records.values()].filter(({ revokedAtMs }) => revokedAtMs === undefined).map(({ id }) => id);
  }
}
