import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { passphraseKey, type ScryptCost } from '../../codec/passphrase-encryption.ts';
import { AtmoError } from '../../core/errors.ts';

const CIPHER = 'aes-256-gcm';
const CHUNK_BYTES = 65_536;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_LENGTH = { authTagLength: TAG_BYTES };

type Bytes = AsyncIterable<Uint8Array>;

/** Index of a chunk (from 0), and whether it is the last. */
interface ChunkPosition {
  readonly index: number;
  readonly isLast: boolean;
}

/**
 * Encrypts content with a passphrase. Yields the header, then chunks of 64 KiB in AES-256-GCM (NIST SP 800-38D), each followed by its tag.
 * The nonce of a chunk is 7 zero bytes, the index (4 bytes, big-endian) and one byte: 1 for the last chunk, 0 for all others. Decryption
 * therefore fails if a chunk was left out, repeated, moved or cut off (STREAM by Hoang, Reyhanitabar, Rogaway and Vizár, 2015).
 */
export async function* sealStream(content: Bytes, passphrase: string, key: Partial<ArchiveKey> = {}): AsyncGenerator<Uint8Array> {
  const header = await newHeader(passphrase, key);
  yield header.bytes;
  for await (const { bytes, ...place } of chunksOf(content, CHUNK_BYTES)) {
    const cipher = createCipheriv(CIPHER, header.key, nonceOf(place), TAG_LENGTH).setAAD(header.bytes);
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }
}

/**
 * Decrypts an archive and yields only authenticated bytes. Throws VALIDATION_ERROR if the file is damaged or truncated, NOT_SUPPORTED if
 * its format is newer, PERMISSION_DENIED if the passphrase is wrong.
 */
export async function* openStream(sealed: Bytes, passphrase: string, derive?: Derive): AsyncGenerator<Uint8Array> {
  const queue = new ByteQueue(sealed);
  const header = await openHeader(await queue.take(HEADER_BYTES), passphrase, derive);
  for await (const chunk of chunksOf(queue.rest(), CHUNK_BYTES + TAG_BYTES)) yield openChunk(chunk, header);
}

function openChunk({ bytes, ...place }: ChunkPosition & { readonly bytes: Buffer }, { key, bytes: header }: OpenHeader): Buffer {
  try {
    const decipher = createDecipheriv(CIPHER, key, nonceOf(place), TAG_LENGTH).setAAD(header);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    const where = place.isLast ? 'at its end, or is cut off' : `near byte ${HEADER_BYTES + place.index * (CHUNK_BYTES + TAG_BYTES)}`;
    throw new AtmoError('VALIDATION_ERROR', `The backup is damaged ${where}; take another copy of it`, {}, { cause });
  }
}

/** Splits content into chunks of `size` bytes. The last chunk may be shorter or empty; there is always at least one chunk. */
async function* chunksOf(content: Bytes, size: number): AsyncGenerator<ChunkPosition & { readonly bytes: Buffer }> {
  const queue = new ByteQueue(content);
  let bytes = await queue.take(size);
  for (let index = 0; ; index++) {
    const next = await queue.take(size);
    yield { index, isLast: next.length === 0, bytes };
    if (next.length === 0) return;
    bytes = next;
  }
}

function nonceOf({ index, isLast }: ChunkPosition): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32BE(index, NONCE_BYTES - 5);
  nonce.writeUInt8(Number(isLast), NONCE_BYTES - 1);
  return nonce;
}

const MAGIC = Buffer.from('atmosphere-edge backup\n', 'latin1');
/** Version of the file format, described in docs/backup.md. */
const FORMAT = 1;
const SALT_BYTES = 16;
const MAC_BYTES = 32;
const KEY_BYTES = 32;
/** scrypt cost (RFC 7914). With it, each guess of a passphrase takes 64 MiB and some tenths of a second. */
export const ARCHIVE_COST: ScryptCost = { logN: 16, r: 8, p: 1 };
/**
 * Cost for boards that cannot spare 64 MiB: each guess takes 16 MiB, and more time. The OWASP Password Storage Cheat Sheet holds it to be
 * as strong as log2(N) = 17, r = 8 and p = 1.
 */
export const SMALL_ARCHIVE_COST: ScryptCost = { logN: 14, r: 8, p: 5 };
/** Highest scrypt cost that a file may demand. Without this limit, a forged file could make the hub use any amount of memory and time. */
const MAX_COST: ScryptCost = { logN: 18, r: 8, p: 5 };
const COST_AT = MAGIC.length + 1;
const SALT_AT = COST_AT + 3;
const MAC_AT = SALT_AT + SALT_BYTES;
/** Size of the header in bytes. */
export const HEADER_BYTES = MAC_AT + MAC_BYTES;

/** The header of an archive, and the AES-256 key of its content. */
interface OpenHeader {
  readonly bytes: Buffer;
  readonly key: Buffer;
}

/** Derives 64 bytes from a passphrase: first the key of the content, then the key of the HMAC. Tests use a faster function. */
export type Derive = (passphrase: string, salt: Uint8Array, cost: ScryptCost) => Promise<Buffer>;

/** How the keys of a new archive are derived from its passphrase. */
export interface ArchiveKey {
  readonly derive: Derive;
  readonly cost: ScryptCost;
}

/** Derives the keys with scrypt (RFC 7914). */
export const byScrypt: Derive = (passphrase, salt, cost) => passphraseKey({ passphrase, salt, cost }, 2 * KEY_BYTES);

/**
 * Returns the header of a new archive: `atmosphere-edge backup` and a line feed, the format (1 byte), scrypt's log2(N), r and p (1 byte
 * each), a random salt (16 bytes), and the HMAC-SHA-256 over all of these (32 bytes).
 */
async function newHeader(
  passphrase: string,
  { derive = byScrypt, cost: { logN, r, p } = ARCHIVE_COST }: Partial<ArchiveKey>,
): Promise<OpenHeader> {
  const head = Buffer.concat([MAGIC, Buffer.of(FORMAT), Buffer.of(logN, r, p), randomBytes(SALT_BYTES)]);
  const { key, macKey } = await keysOf(head, passphrase, derive);
  return { bytes: Buffer.concat([head, macOf(head, macKey)]), key };
}

/** Verifies a header and derives the key of the content. Throws the errors of `openStream`. */
async function openHeader(bytes: Buffer, passphrase: string, derive = byScrypt): Promise<OpenHeader> {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      'This is no backup of a hub, or its beginning is damaged; give the file that "atmo backup" wrote',
    );
  }
  requireKnownFormat(bytes);
  const { key, macKey } = await keysOf(bytes, passphrase, derive);
  if (timingSafeEqual(macOf(bytes.subarray(0, MAC_AT), macKey), bytes.subarray(MAC_AT, HEADER_BYTES))) return { bytes, key };
  throw new AtmoError('PERMISSION_DENIED', 'The passphrase is not the one of this backup, or its beginning is damaged; try again');
}

function requireKnownFormat(bytes: Buffer): void {
  const format = bytes.readUInt8(MAGIC.length);
  if (format > FORMAT) {
    throw new AtmoError(
      'NOT_SUPPORTED',
      `The backup was made by a newer atmosphere-edge (format ${format}, this one knows ${FORMAT}). Install that version first`,
    );
  }
  const { logN, r, p } = costOf(bytes);
  const isBounded =
    format === FORMAT && logN >= SMALL_ARCHIVE_COST.logN && logN <= MAX_COST.logN && r === MAX_COST.r && p >= 1 && p <= MAX_COST.p;
  if (!isBounded) throw new AtmoError('VALIDATION_ERROR', 'The beginning of the backup is damaged; take another copy of it');
}

function costOf(bytes: Buffer): ScryptCost {
  return { logN: bytes.readUInt8(COST_AT), r: bytes.readUInt8(COST_AT + 1), p: bytes.readUInt8(COST_AT + 2) };
}

async function keysOf(head: Buffer, passphrase: string, derive: Derive): Promise<{ readonly key: Buffer; readonly macKey: Buffer }> {
  const secret = await derive(passphrase, head.subarray(SALT_AT, MAC_AT), costOf(head));
  return { key: secret.subarray(0, KEY_BYTES), macKey: secret.subarray(KEY_BYTES) };
}

function macOf(head: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(head.subarray(0, MAC_AT)).digest();
}

/** Reads a stream of bytes in pieces of a chosen size. */
export class ByteQueue {
  readonly #source: AsyncIterator<Uint8Array>;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns `count` bytes; fewer, or none, if the source ends earlier. */
  async take(count: number): Promise<Buffer> {
    while (this.#waitingBytes < count) {
      const next = await this.#source.next();
      if (next.done === true) break;
      this.#waiting.push(next.value);
      this.#waitingBytes += next.value.length;
    }
    const whole = Buffer.concat(this.#waiting);
    const rest = whole.subarray(count);
    this.#waiting = rest.length > 0 ? [rest] : [];
    this.#waitingBytes = rest.length;
    return whole.subarray(0, count);
  }

  /** Yields the remaining bytes in pieces of any size. */
  async *rest(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const waiting = await this.take(Math.max(1, this.#waitingBytes));
      if (waiting.length === 0) return;
      yield waiting;
    }
  }
}
