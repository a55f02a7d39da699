import { type Json, objectOf } from '../json.ts';

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
  /** Returns undefined for an absent or expired entry. */
  get(space: string, key: string): Json | undefined;
  /** The entry expires `ttlMs` from now, never when absent. */
  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void;
  /** Returns whether there was a live entry. */
  delete(space: string, key: string): boolean;
  /** Live entries, sorted by key. */
  entries(space: string): readonly { readonly key: string; readonly value: Json }[];
}

/** The progress of a file: at one generation the content always has the same digest. */
export interface FileMark {
  /** Each commit raises it. */
  readonly generation: number;
  /** Digest of the content; empty for a file without digests. */
  readonly digest: string;
}

/** Port: stores the progress of a file elsewhere, so that a lost, emptied or older file is detected. */
export interface FileAnchor {
  /**
   * Returns the progress that the file must have reached. A file that is ahead is sound: the process ended between the two writes. The
   * digest is empty when it is not known. Undefined without an anchor.
   */
  least(): FileMark | undefined;
  /** The commit survives the end of the process, and not yet a power cut; a start also reports a file that it accepts as older. */
  committed(mark: FileMark): void;
  /** The commit is on the disk. */
  synced(mark: FileMark): void;
}

const SPACE = 'file-anchors';

/** Returns an anchor in the store, for a file that changes seldom and is synced with each change. */
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
