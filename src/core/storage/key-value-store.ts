import type { Json } from '../json.ts';

/**
 * Spaces that decide whom the hub believes: ended tokens, requests for approval with their use, approvers, hubs that were sent away. A
 * store keeps them in two places, so that an older copy of one brings nothing back.
 */
export const TRUST_SPACES = ['access.revocations', 'approvals', 'approvers', 'approver-enrolments', 'mesh.revoked'] as const;

/**
 * Port: small durable state. A write is on the disk when the call returns; the stored form is JSON. Calls are
 * synchronous, so a `get` and the `set` that follows it in the same turn cannot be torn apart by another caller.
 * Errors: VALIDATION_ERROR (space, key or ttl), PAYLOAD_TOO_LARGE (value), STORAGE_FAILED.
 */
export interface KeyValueStore {
  /** Undefined where there is no entry, or its time is over. */
  get(space: string, key: string): Json | undefined;
  /** `ttlMs` counts from now; absent = for ever. */
  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void;
  /** True when there was a live entry. */
  delete(space: string, key: string): boolean;
  /** Live entries, sorted by key. */
  entries(space: string): readonly { readonly key: string; readonly value: Json }[];
}
