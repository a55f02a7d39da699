import { hash } from 'node:crypto';

/** Largest blob, bytes: a definition as canonical JSON, or a page of an announcement. */
export const MAX_BLOB_BYTES = 65_536;
const MAX_STORE_BYTES = 16 * 1_048_576;
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
  readonly #others = new Map<string, Blob>();
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

  /** Keeps a blob of another hub under its hash; false when there is no room. */
  add(bytes: Uint8Array): boolean {
    const blob = blobOf(bytes);
    const short = shortName(blob.sha256);
    // The first of two blobs with one short name stays: nobody replaces what another hub has announced.
    if (this.#others.has(short) || this.#own.has(short)) return true;
    if (bytes.length > MAX_BLOB_BYTES || this.#bytes + bytes.length > this.#maxBytes) return false;
    this.#others.set(short, blob);
    this.#bytes += bytes.length;
    return true;
  }

  /** Forgets the blobs of other hubs whose short name (16 hex digits) is not among `used`. */
  retain(used: ReadonlySet<string>): void {
    for (const [short, blob] of this.#others) {
      if (used.has(short)) continue;
      this.#others.delete(short);
      this.#bytes -= blob.bytes.length;
      this.#losses += 1;
    }
  }
}

/** The name under which a store finds a blob, whatever the length of the name that is given. */
export function shortName(name: string): string {
  return name.slice(0, SHORT_NAME);
}

/** The bytes with their hash. */
export function blobOf(bytes: Uint8Array): Blob {
  return { sha256: hash('sha256', bytes, 'hex'), bytes };
}
