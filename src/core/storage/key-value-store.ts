import { type Json, objectOf } from '../json.ts';

/**
 * Spaces that decide whom the hub trusts: revoked tokens, approval requests and their use, approvers, expelled hubs. A store has two copies
 * of them, so that an older file cannot restore trust.
 */
export const TRUST_SPACES = ['access.revocations', 'approvals', 'approvers', 'approver-enrolments', 'mesh.revoked'] as const;

/**
 * Port: small durable state. A write is on the disk when the call returns; values are stored as JSON. Calls are synchronous, so that no
 * other caller runs between a `get` and a `set` in the same turn. Throws VALIDATION_ERROR (space, key or ttl is invalid), PAYLOAD_TOO_LARGE
 * (the value is too long) or STORAGE_FAILED.
 */
export interface KeyValueStore {
  /** Returns the value of an entry; undefined for an absent or expired entry. */
  get(space: string, key: string): Json | undefined;
  /** Stores a value. The entry expires after `ttlMs`; by default never. */
  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void;
  /** Deletes an entry and returns whether there was an unexpired entry. */
  delete(space: string, key: string): boolean;
  /** Returns the unexpired entries, sorted by key. */
  entries(space: string): readonly { readonly key: string; readonly value: Json }[];
}

/** The state of a file. Two states with the same generation have the same digest. */
export interface FileMark {
  /** Number of the file's last commit. */
  readonly generation: number;
  /** Digest of the content; empty for a file without digests. */
  readonly digest: string;
}

/** Port: stores the state of a file elsewhere, to detect that the file was lost, emptied or replaced by an older one. */
export interface FileAnchor {
  /**
   * Returns the state that the file must have or exceed; undefined if none is stored. A newer file is sound, since the process may have
   * ended between the two writes. An unknown digest is empty.
   */
  least(): FileMark | undefined;
  /**
   * Called when a commit survives the end of the process, but not yet a power cut. At a start it is also called for an older file that is
   * accepted.
   */
  committed(mark: FileMark): void;
  /** Called when a commit is on the disk. */
  synced(mark: FileMark): void;
}

const SPACE = 'file-anchors';

/** Returns an anchor in the store, for a file that changes rarely and is synced with each change. */
export function anchorInStore(store: Pick<KeyValueStore, 'get' | 'set'>, name: string): FileAnchor {
  const keep = ({ generation, digest }: FileMark) => store.set(SPACE, name, { generation, digest });
  return {
    least: () => {
      const kept = store.get(SPACE, name);
      const { generation, digest } = objectOf(kept);
      return typeof generation === 'number' && typeof digest === 'string' ? { generation, digest } : undefined;
    },
    committed: keep,
    synced: keep,
  };
}
