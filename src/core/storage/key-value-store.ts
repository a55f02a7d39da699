import { type Json, objectOf } from '../json.ts';

/**
 * Spaces that decide whom the hub trusts: revoked tokens, approval requests and their use, approvers, expelled hubs. The hub stores these
 * spaces twice, so that an older copy of the database cannot undo a revocation.
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

/** The state of a file. If two states have the same generation but different digests, the file was altered. */
export interface FileMark {
  /** Number of the file's last commit. */
  readonly generation: number;
  /** Digest of the content; empty for a file without digests. */
  readonly digest: string;
}

/** Port: stores the state of a file elsewhere, to detect that the file was lost, emptied or replaced by an older one. */
export interface FileAnchor {
  /**
   * Returns the oldest state that the file may have; undefined if none is stored. A newer file is not a fault: the process may have ended
   * after it wrote the file and before it wrote the anchor. The digest is empty if it is unknown.
   */
  least(): FileMark | undefined;
  /**
   * Called when a commit is safe from a crash of the process, but not yet from a power cut. At a start it is also called if an older file
   * is accepted.
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
