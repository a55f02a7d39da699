import { type Json, objectOf } from '../json.ts';

/**
 * Key spaces of the store that decide whom the hub trusts: revoked tokens, approval requests and their use, answers that hold on, approvers,
 * expelled hubs, persons and their sign-ins, grants of OAuth and their codes. The hub stores them twice, so that a revocation stays in force even if an older copy of the
 * database is restored.
 */
export const TRUST_SPACES = [
  ...['access.revocations', 'approvals', 'approvals.standing', 'approvers', 'approver-enrolments', 'mesh.revoked'],
  ...['people', 'people.invitations', 'people.sign-ins'],
  ...['oauth.grants', 'oauth.codes'],
] as const;

/**
 * Port: stores small values as JSON. A write is on the disk when the call returns. Calls are synchronous, so no other caller runs between a
 * `get` and a `set` in the same turn. Throws VALIDATION_ERROR (invalid space, key or ttl), PAYLOAD_TOO_LARGE (value too long) or
 * STORAGE_FAILED.
 */
export interface KeyValueStore {
  /** Returns the value of a key; undefined if there is none or it has expired. */
  get(space: string, key: string): Json | undefined;
  /** Stores a value. It expires after `ttlMs`; without `ttlMs` it never expires. */
  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void;
  /** Deletes a value. Returns whether there was one that had not expired. */
  delete(space: string, key: string): boolean;
  /** Returns the keys and values that have not expired, sorted by key. */
  entries(space: string): readonly { readonly key: string; readonly value: Json }[];
}

/** The state of a file after a commit. If two states have the same generation but different digests, the file was altered. */
export interface FileMark {
  /** Number of the file's last commit. Each commit has a greater number. */
  readonly generation: number;
  /** Digest of the content; empty for a file without digests. */
  readonly digest: string;
}

/** Port: stores the state of a file elsewhere. A later comparison shows whether the file was lost, emptied or replaced by an older one. */
export interface FileAnchor {
  /**
   * Returns the oldest state that the file may have; undefined if none is stored. The file may be newer, because the process may have ended
   * after it wrote the file and before it wrote the anchor. An empty digest means that the digest is unknown.
   */
  least(): FileMark | undefined;
  /**
   * Called when a commit survives a crash of the process, but not yet a power cut. Also called when the hub accepts the file at a start,
   * even if the file is older than the stored state.
   */
  committed(mark: FileMark): void;
  /** Called when a commit survives a power cut. */
  synced(mark: FileMark): void;
}

const SPACE = 'file-anchors';

/** Returns an anchor that is stored in `store`. It suits a file that changes rarely and is synced after each change. */
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
