import { familyOf } from '../../core/access/agent-id.ts';
import type { TokenRecord } from '../../core/access/token-authority.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';

const SPACE = 'access.tokens';
/** So that the owner still finds what an agent had that is gone. */
const KEPT_AFTER_END_MS = 30 * 86_400_000;
/** Of one agent, with all that come from it: the disk is everybody's. Those that are in force are kept in any case. */
const MAX_OF_FAMILY = 256;

/** What this hub knows of the tokens that it made, until 30 days after their end: everything but the texts. */
export class TokenRecords {
  readonly #store: KeyValueStore;
  readonly #time: TrustedTime;
  readonly #hubId: string;

  /** Tokens of another key of this hub are dead and not shown. */
  constructor({ store, time }: { readonly store: KeyValueStore; readonly time: TrustedTime }, hubId: string) {
    this.#store = store;
    this.#time = time;
    this.#hubId = hubId;
  }

  /** STORAGE_FAILED. */
  save(record: TokenRecord): void {
    const ttlMs = Math.max(1, record.expiresAtMs + KEPT_AFTER_END_MS - this.#time.now());
    this.#store.set(SPACE, record.id, { ...record, hub: this.#hubId }, { ttlMs });
    if (record.parent !== undefined) this.#forgetSurplus(record);
  }

  /** The oldest of those that have ended; what ended them stands in the list of revocations. */
  #forgetSurplus({ agentId }: TokenRecord): void {
    const family = this.list().filter((record) => record.parent !== undefined && familyOf(record.agentId) === familyOf(agentId));
    const ended = family.filter(({ revokedAtMs, expiresAtMs }) => revokedAtMs !== undefined || expiresAtMs <= this.#time.now());
    const surplus = Math.min(ended.length, family.length - MAX_OF_FAMILY);
    if (surplus > 0) for (const { id } of ended.slice(-surplus)) this.#store.delete(SPACE, id);
  }

  get(tokenId: string): TokenRecord | undefined {
    return this.#parse(this.#store.get(SPACE, tokenId));
  }

  /** Newest first. */
  list(): readonly TokenRecord[] {
    return this.#store
      .entries(SPACE)
      .map(({ value }) => this.#parse(value))
      .filter((record) => record !== undefined)
      .sort((a, b) => b.issuedAtMs - a.issuedAtMs);
  }

  #parse(value: Json | undefined): TokenRecord | undefined {
    return isJsonObject(value) && value.hub === this.#hubId ? parseRecord(value) : undefined;
  }
}

/** Undefined for what no version of the hub wrote. */
function parseRecord(value: Json | undefined): TokenRecord | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined;
  const { id, agentId, permissions, issuedAtMs, expiresAtMs, issuedBy, role, parent, revokedAtMs } = value;
  if (typeof id !== 'string' || typeof agentId !== 'string' || typeof issuedBy !== 'string') return undefined;
  if (typeof issuedAtMs !== 'number' || typeof expiresAtMs !== 'number' || !Array.isArray(permissions)) return undefined;
  return {
    id,
    agentId,
    permissions: permissions.map(String),
    issuedAtMs,
    expiresAtMs,
    issuedBy,
    ...(typeof role === 'string' && { role }),
    ...(typeof parent === 'string' && { parent }),
    ...(typeof revokedAtMs === 'number' && { revokedAtMs }),
  };
}
