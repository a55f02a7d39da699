import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { bytes, hex, list, message, messageCodec, nullable, refuse, required, uint, type ValueOf } from '../message-schema.ts';

/** Most blobs of one request. */
const MAX_BLOBS = 256;
/** Largest blob, bytes: a definition as canonical JSON, or a page of an announcement. */
export const MAX_BLOB_BYTES = 65_536;
/** Bytes of all blobs of one answer. */
const MAX_BLOBS_BYTES = 4_194_304;

const REQUEST = message({
  /** The beginnings, 8 to 32 bytes, of the SHA-256 of the blobs, hex. */
  hashes: required(1, list(hex({ min: 8, max: 32 }), { min: 1, max: MAX_BLOBS })),
});
/** In the order of the hashes; null for a blob that the hub lacks, or that exceeds the size of this answer. */
const BLOBS = list(nullable(bytes({ max: MAX_BLOB_BYTES })), { max: MAX_BLOBS });
const ANSWER = message({
  /** Length of the inflated bytes. */
  length: required(1, uint({ max: MAX_BLOBS_BYTES })),
  deflated: required(2, bytes({ min: 1, max: MAX_BLOBS_BYTES })),
});

interface BlobAnswer {
  /** In the order of the hashes; at most 4 MiB in all. */
  readonly blobs: ValueOf<typeof BLOBS>;
}

/** Asks another hub for blobs. */
export const blobRequestCodec = messageCodec('BlobRequest', REQUEST, { maxBytes: 16_384, maxDepth: 2, maxItems: 3 + MAX_BLOBS });
const BLOBS_CODEC = messageCodec('Blobs', BLOBS, { maxBytes: MAX_BLOBS_BYTES, maxDepth: 1, maxItems: 1 + MAX_BLOBS });
const ANSWER_CODEC = messageCodec('BlobAnswer', ANSWER, { maxBytes: MAX_BLOBS_BYTES + 64, maxDepth: 1, maxItems: 5 });

/** Deflates (RFC 1951) all blobs together: definitions resemble each other. */
export function encodeBlobAnswer({ blobs }: BlobAnswer): Uint8Array {
  const encoded = BLOBS_CODEC.encode(blobs);
  return ANSWER_CODEC.encode({ length: encoded.length, deflated: Uint8Array.from(deflateRawSync(encoded)) });
}

/** Inflates at most the announced length, which is bounded. Does not compare the blobs with their hashes. */
export function decodeBlobAnswer(encoded: Uint8Array): BlobAnswer {
  const { length, deflated } = ANSWER_CODEC.decode(encoded);
  const place = { within: { within: undefined, step: 'BlobAnswer' }, step: 'deflated' };
  const inflated = inflate(deflated, length) ?? refuse(place, `does not inflate to at most ${length} bytes`);
  if (inflated.length !== length) refuse(place, `inflates to ${inflated.length} bytes instead of ${length}`);
  return { blobs: BLOBS_CODEC.decode(inflated) };
}

function inflate(deflated: Uint8Array, length: number): Uint8Array | undefined {
  try {
    return inflateRawSync(deflated, { maxOutputLength: Math.max(1, length) });
  } catch {
    return undefined;
  }
}
