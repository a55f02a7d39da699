import { sha256Hex } from '../../codec/hashes.ts';
import { MAX_BLOB_BYTES } from '../../codec/messages/sync.ts';
import type { HubId } from '../../core/ids.ts';
import { GOSSIP_LIMITS } from './gossip-limits.ts';

/** Share of the store that the blobs of one announcing hub may fill. */
const SHARE_OF_HUB = 1 / 4;
/** Number of hex digits in the shortest name of a blob. They are the first 8 bytes of its SHA-256. */
const SHORT_NAME = 16;

/** Blob: bytes with their SHA-256 in hex. */
export interface Blob {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/**
 * Stores blobs in memory. The name of a blob is its SHA-256 in hex, or at least the first 16 digits of it. This hub's own blobs stay until
 * `setOwn` replaces them. Blobs of other hubs stay until `retain` finds them unused.
 */
export class BlobStore {
  readonly #maxBytes: number;
  readonly #others = new Map<string, Blob & { readonly origin: HubId | undefined }>();
  /** For each announcing hub, the total size of its stored blobs in bytes. */
  readonly #shares = new Map<HubId, number>();
  #own: ReadonlyMap<string, Blob> = new Map();
  #bytes = 0;
  #losses = 0;
  /** The set with which nothing is left to delete; undefined after another blob was stored. */
  #retained: ReadonlySet<string> | undefined;

  constructor({ maxBytes = GOSSIP_LIMITS.maxBlobBytes }: { readonly maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Size, in bytes, of all blobs of other hubs. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of blobs that this store has removed since the start. */
  get losses(): number {
    return this.#losses;
  }

  /** Replaces the blobs that this hub itself serves. */
  setOwn(blobs: Iterable<Blob>): void {
    const before = this.#own;
    this.#own = new Map(Array.from(blobs, (blob) => [shortName(blob.sha256), blob]));
    for (const short of before.keys()) if (!this.#own.has(short)) this.#losses += 1;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get(name: string): Uint8Array | undefined {
    const short = shortName(name);
    const own = this.#own.get(short);
    if (own?.sha256.startsWith(name)) return own.bytes;
    const other = this.#others.get(short);
    return other?.sha256.startsWith(name) ? other.bytes : undefined;
  }

  /** Returns whether the blobs that a hub announces fill its share of the store. */
  isFullFor(origin: HubId): boolean {
    return (this.#shares.get(origin) ?? 0) >= this.#maxBytes * SHARE_OF_HUB;
  }

  /** Stores a blob that `origin` announces. Returns false if the blob is too long, or if the store or the share of `origin` is full. */
  add(blob: Blob, origin?: HubId): boolean {
    const short = shortName(blob.sha256);
    const { length } = blob.bytes;
    // If the short name is already used, the stored blob stays, so that no hub can replace the blob of another hub.
    if (this.#others.has(short) || this.#own.has(short)) return true;
    if (length > MAX_BLOB_BYTES || this.#bytes + length > this.#maxBytes) return false;
    if (origin !== undefined && this.isFullFor(origin)) return false;
    this.#others.set(short, { ...blob, origin });
    this.#charge(origin, length);
    this.#retained = undefined;
    return true;
  }

  /** Deletes blobs of other hubs whose short name (16 hex digits) is not in `used`, which never changes: it is another set after a change. */
  retain(used: ReadonlySet<string>): void {
    if (used === this.#retained) return;
    this.#retained = used;
    for (const [short, blob] of this.#others) {
      if (used.has(short)) continue;
      this.#others.delete(short);
      this.#charge(blob.origin, -blob.bytes.length);
      this.#losses += 1;
    }
  }

  #charge(origin: HubId | undefined, bytes: number): void {
    this.#bytes += bytes;
    if (origin === undefined) return;
    const share = (this.#shares.get(origin) ?? 0) + bytes;
    if (share > 0) this.#shares.set(origin, share);
    else this.#shares.delete(origin);
  }
}

/** Returns the short form of a blob name. It is the key in the store. */
export function shortName(name: string): string {
  return name.slice(0, SHORT_NAME);
}

/** Returns a blob: the bytes with their SHA-256. */
export function blobOf(bytes: Uint8Array): Blob {
  return { sha256: sha256Hex(bytes), bytes };
}
