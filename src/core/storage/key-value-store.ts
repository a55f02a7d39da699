import type { Json } from '../json.ts';

/**
 * Spaces that decide whom the hub trusts: revoked tokens, requests for approval and their use, approvers, expelled hubs. A store has two
 * copies of them, so that an older copy of one restores no trust.
 */
export const TRUST_SPACES = ['access.revocations', 'approvals', 'approvers', 'approver-enrolments', 'mesh.revoked'] as const;

/**
 * Port: small durable state. A write is on the disk when the call returns; the stored form is JSON. Calls are
 * synchronous, so no other caller can run between a `get` and a `set` in the same turn.
 * Errors: VALIDATION_ERROR (space, key or ttl), PAYLOAD_TOO_LARGE (value), STORAGE_FAILED.
 */
export interface KeyValueStore {
  /** Undefined for an absent or expired entry. */
  get(space: string, key: string): Json | undefined;
  /** The entry expires `ttlMs` from now, never when absent. */
  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void;
  /** True when there was a live entry. */
  delete(space: string, key: string): boolean;
  /** Live entries, sorted by key. */
  entries(space: string): readonly { readonly key: string; readonly value: Json }[];
}
