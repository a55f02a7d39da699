import { createCipheriv, createDecipheriv } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import { type Derive, HEADER_BYTES, newHeader, type OpenHeader, openHeader } from './archive-header.ts';
import { ByteQueue } from './byte-queue.ts';

const CIPHER = 'aes-256-gcm';
const CHUNK_BYTES = 65_536;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_LENGTH = { authTagLength: TAG_BYTES };

type Bytes = AsyncIterable<Uint8Array>;

/** Which chunk it is, in its order from 0, and whether nothing follows it. */
interface Place {
  readonly index: number;
  readonly isLast: boolean;
}

/**
 * Content under a passphrase: the header, then chunks of 64 KiB in AES-256-GCM (NIST SP 800-38D), each with its tag behind it. A
 * chunk's nonce is 7 zero bytes, its number (4 bytes, big-endian) and 1 for the last chunk, 0 for all others, so that none can be
 * left out, doubled, moved or cut off (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, 2015).
 */
export async function* sealStream(content: Bytes, passphrase: string, derive?: Derive): AsyncGenerator<Uint8Array> {
  const header = await newHeader(passphrase, derive);
  yield header.bytes;
  for await (const { bytes, ...place } of chunksOf(content, CHUNK_BYTES)) {
    const cipher = createCipheriv(CIPHER, header.key, nonceOf(place), TAG_LENGTH).setAAD(header.bytes);
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }
}

/**
 * The content again; no byte that was not written by `sealStream` comes out. VALIDATION_ERROR for what is damaged or cut off or no
 * archive, NOT_SUPPORTED for a newer one, PERMISSION_DENIED for another passphrase.
 */
export async function* openStream(sealed: Bytes, passphrase: string, derive?: Derive): AsyncGenerator<Uint8Array> {
  const queue = new ByteQueue(sealed);
  const header = await openHeader(await queue.take(HEADER_BYTES), passphrase, derive);
  for await (const chunk of chunksOf(queue.rest(), CHUNK_BYTES + TAG_BYTES)) yield openChunk(chunk, header);
}

function openChunk({ bytes, ...place }: Place & { readonly bytes: Buffer }, { key, bytes: header }: OpenHeader): Buffer {
  try {
    const decipher = createDecipheriv(CIPHER, key, nonceOf(place), TAG_LENGTH).setAAD(header);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    const where = place.isLast ? 'at its end, or is cut off' : `near byte ${HEADER_BYTES + place.index * (CHUNK_BYTES + TAG_BYTES)}`;
    throw new AtmoError('VALIDATION_ERROR', `The backup is damaged ${where}; take another copy of it`, {}, { cause });
  }
}

/** Pieces of that many bytes, the last one of fewer; there is always a last one. */
async function* chunksOf(content: Bytes, size: number): AsyncGenerator<Place & { readonly bytes: Buffer }> {
  const queue = new ByteQueue(content);
  let bytes = await queue.take(size);
  for (let index = 0; ; index++) {
    const next = await queue.take(size);
    yield { index, isLast: next.length === 0, bytes };
    if (next.length === 0) return;
    bytes = next;
  }
}

function nonceOf({ index, isLast }: Place): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32BE(index, NONCE_BYTES - 5);
  nonce.writeUInt8(Number(isLast), NONCE_BYTES - 1);
  return nonce;
}
