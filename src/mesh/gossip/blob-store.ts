import { sha256Hex } from '../../codec/hashes.ts';
import { MAX_BLOB_BYTES } from '../../codec/messages/blobs.ts';
import type { HubId } from '../../core/ids.ts';

const MAX_STORE_BYTES = 16 * 1_048_576;
/** One hub alone fills no more of the store than this part of it. */
const SHARE_OF_HUB = 1 / 4;
/** Hex digits of the shortest name of a blob: 8 bytes of its SHA-256. */
const SHORT_NAME = 16;

/** Bytes with their SHA-256, hex. */
export interface Blob {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/**
 * Blobs by the SHA-256 of their bytes. A name is the beginning of that hash, in hex, at least 16 digits. Own blobs stay until
 * they are replaced; those of other hubs until `retain` finds them unused.
 */
export class BlobStore {
  readonly #maxBytes: number;
  readonly #others = new Map<string, Blob & { readonly origin: HubId | undefined }>();
  /** Bytes that were fetched for what each hub announces. */
  readonly #shares = new Map<HubId, number>();
  #own: ReadonlyMap<string, Blob> = new Map();
  #bytes = 0;
  #losses = 0;

  constructor({ maxBytes = MAX_STORE_BYTES }: { readonly maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of other hubs' blobs. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts up when a blob that was here is here no more. */
  get losses(): number {
    return this.#losses;
  }

  /** Replaces what this hub offers itself. */
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
    const found = [this.#own.get(short), this.#others.get(short)].find((blob) => blob?.sha256.startsWith(name));
    return found?.bytes;
  }

  /** True when what the hub announces has taken up all the room that one hub gets. */
  isFullFor(origin: HubId): boolean {
    return (this.#shares.get(origin) ?? 0) >= this.#maxBytes * SHARE_OF_HUB;
  }

  /** Keeps a blob of another hub, that `origin` announces, under its hash; false when there is no room. */
  add(blob: Blob, origin?: HubId): boolean {
    const short = shortName(blob.sha256);
    const { length } = blob.bytes;
    // The first of two blobs with one short name stays: nobody replaces what another hub has announced.
    if (this.#others.has(short) || this.#own.has(short)) return true;
    if (length > MAX_BLOB_BYTES || this.#bytes + length > this.#maxBytes) return false;
    if (origin !== undefined && this.isFullFor(origin)) return false;
    this.#others.set(short, { ...blob, origin });
    this.#charge(origin, length);
    return true;
  }

  /** Forgets the blobs of other hubs whose short name (16 hex digits) is not among `used`. */
  retain(used: ReadonlySet<string>): void {
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

/** The name under which a store finds a blob, whatever the length of the name that is given. */
export function shortName(name: string): string {
  return name.slice(0, SHORT_NAME);
}

/** The bytes with their hash. */
export function blobOf(bytes: Uint8Array): Blob {
  return { sha256: sha256Hex(bytes), bytes };
}
