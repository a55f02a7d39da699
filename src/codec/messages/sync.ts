import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { HubId } from '../../core/ids.ts';
import type { CborValue } from '../cbor.ts';
import {
  bytes,
  choice,
  hex,
  list,
  message,
  messageCodec,
  nullable,
  refuse,
  requireBytes,
  required,
  uint,
  type ValueOf,
  type ValuePath,
  type WireType,
} from '../message-schema.ts';
import { MAX_ANNOUNCEMENT_BYTES } from './announcement.ts';

/** Maximum number of hubs in a version vector, including its sender. */
export const MAX_VECTOR_HUBS = 1_024;
const ID_BYTES = 8;
const ID_DIGITS = 2 * ID_BYTES;
const HUB_ID = /^hub-[0-9a-f]{16}$/;
const COUNTS = list(uint(), { max: MAX_VECTOR_HUBS });

/** Version of the newest known announcement of each hub. */
export type VersionVector = readonly { readonly hubId: HubId; readonly epoch: number; readonly sequence: number }[];

/** Wire type of a version vector. It is sent as three columns, because decoding one array for each hub would make comparisons slow. */
const versionVector: WireType<VersionVector> = {
  toCbor: (versions, at) => {
    if (versions.length > MAX_VECTOR_HUBS) refuse(at, `has more than ${MAX_VECTOR_HUBS} hubs`);
    const ids = versions.map(({ hubId }, step) =>
      HUB_ID.test(hubId) ? hubId.slice(-ID_DIGITS) : refuse({ within: at, step }, 'is no id of a hub'),
    );
    return [
      Uint8Array.from(Buffer.from(ids.join(''), 'hex')),
      COUNTS.toCbor(
        Array.from(versions, ({ epoch }) => epoch),
        { within: at, step: 'epochs' },
      ),
      COUNTS.toCbor(
        Array.from(versions, ({ sequence }) => sequence),
        { within: at, step: 'sequences' },
      ),
    ];
  },
  fromCbor: (value, at) => {
    if (!Array.isArray(value) || value.length !== 3) return refuse(at, 'is not an array of 3');
    const [idsValue, epochsValue, sequencesValue]: readonly CborValue[] = value;
    const ids = requireBytes(idsValue, at, { max: MAX_VECTOR_HUBS * ID_BYTES });
    const epochs = COUNTS.fromCbor(epochsValue as CborValue, { within: at, step: 'epochs' });
    const sequences = COUNTS.fromCbor(sequencesValue as CborValue, { within: at, step: 'sequences' });
    if (ids.length !== epochs.length * ID_BYTES || epochs.length !== sequences.length)
      return refuse(at, 'does not have as many ids as epochs and sequences');
    const digits = Buffer.from(ids.buffer, ids.byteOffset, ids.length).toString('hex');
    return epochs.map((epoch, index) => ({
      hubId: `hub-${digits.slice(index * ID_DIGITS, (index + 1) * ID_DIGITS)}` as HubId,
      epoch,
      sequence: sequences[index] ?? 0,
    }));
  },
};

const MAX_BODY_BYTES = 4_194_304;
/** Maximum number of announcements in a response. Usually a response is full earlier, because hubs limit it to about 1 MiB. */
const MAX_ENVELOPES = 16_384;
/** Maximum number of statements that a request lists. */
export const MAX_KNOWN_STATEMENTS = 65_536;
/** Maximum number of statements in a response. */
export const MAX_SENT_STATEMENTS = 16_384;
/** Wire type of a signed announcement. The decoded announcement is a view of the response: a caller must copy it to store it. */
const ENVELOPE: WireType<Uint8Array> = { toCbor: requireEnvelope, fromCbor: requireEnvelope };

const SYNC_REQUEST = message({ vector: required(1, versionVector) });
const SYNC_ANSWER = message({
  vector: required(1, versionVector),
  /** Announcements that the other hub lacks, with their original signatures. Announcements of one hub are sorted from oldest to newest. */
  envelopes: required(2, list(ENVELOPE, { max: MAX_ENVELOPES })),
});

const STATEMENT = message({
  kind: required(1, choice({ member_revocation: 1, token_revocation: 2 })),
  bytes: required(2, bytes({ min: 1, max: 4_096 })),
});
const STATEMENT_REQUEST = message({
  /** First 16 bytes, in hex, of the SHA-256 of each statement that the sender has. */
  known: required(1, list(hex({ min: 16, max: 16 }), { max: MAX_KNOWN_STATEMENTS })),
});
const STATEMENT_ANSWER = message({ statements: required(1, list(STATEMENT, { max: MAX_SENT_STATEMENTS })) });

/** Signed statement that stays valid forever: a revocation. */
export type GossipStatement = ValueOf<typeof STATEMENT>;

/** Codec of the request for announcements that are newer than a version vector. */
export const syncRequestCodec = messageCodec('SyncRequest', SYNC_REQUEST, { maxDepth: 3, maxItems: 6 + 2 * MAX_VECTOR_HUBS });
/** Codec of the response with announcements; decoding verifies no signature. */
export const syncAnswerCodec = messageCodec('SyncAnswer', SYNC_ANSWER, {
  maxBytes: MAX_BODY_BYTES,
  maxDepth: 3,
  maxItems: 8 + 2 * MAX_VECTOR_HUBS + MAX_ENVELOPES,
});
/** Codec of the request for statements that the sender lacks. */
export const statementRequestCodec = messageCodec('StatementRequest', STATEMENT_REQUEST, {
  maxBytes: MAX_BODY_BYTES,
  maxDepth: 2,
  maxItems: 3 + MAX_KNOWN_STATEMENTS,
});
/** Codec of the response with statements; decoding verifies no signature. */
export const statementAnswerCodec = messageCodec('StatementAnswer', STATEMENT_ANSWER, {
  maxBytes: MAX_BODY_BYTES,
  maxDepth: 3,
  maxItems: 4 + 5 * MAX_SENT_STATEMENTS,
});

function requireEnvelope(value: unknown, at: ValuePath): Uint8Array {
  return requireBytes(value, at, { min: 1, max: MAX_ANNOUNCEMENT_BYTES });
}

const MAX_BLOBS = 256;
/** Maximum size of a blob in bytes. A blob is a tool definition as canonical JSON, or a page of an announcement. */
export const MAX_BLOB_BYTES = 65_536;
/** Maximum size, in bytes, of all blobs in one response. */
const MAX_BLOBS_BYTES = 4_194_304;

const REQUEST = message({
  /** First 8 to 32 bytes, in hex, of the SHA-256 of each blob. */
  hashes: required(1, list(hex({ min: 8, max: 32 }), { min: 1, max: MAX_BLOBS })),
});
/** Wire type of blobs in the order of the requested hashes. An item is null if the hub lacks the blob or the response would be too long. */
const BLOBS = list(nullable(bytes({ max: MAX_BLOB_BYTES })), { max: MAX_BLOBS });
const ANSWER = message({
  length: required(1, uint({ max: MAX_BLOBS_BYTES })),
  deflated: required(2, bytes({ min: 1, max: MAX_BLOBS_BYTES })),
});

interface BlobAnswer {
  /** Blobs in the order of the requested hashes; at most 4 MiB in total. */
  readonly blobs: ValueOf<typeof BLOBS>;
}

/** Codec of the request for blobs. */
export const blobRequestCodec = messageCodec('BlobRequest', REQUEST, { maxBytes: 16_384, maxDepth: 2, maxItems: 3 + MAX_BLOBS });
const BLOBS_CODEC = messageCodec('Blobs', BLOBS, { maxBytes: MAX_BLOBS_BYTES, maxDepth: 1, maxItems: 1 + MAX_BLOBS });
const ANSWER_CODEC = messageCodec('BlobAnswer', ANSWER, { maxBytes: MAX_BLOBS_BYTES + 64, maxDepth: 1, maxItems: 5 });

/** Encodes a response with blobs. Compresses all blobs together (deflate, RFC 1951), because tool definitions resemble each other. */
export function encodeBlobAnswer({ blobs }: BlobAnswer): Uint8Array {
  const encoded = BLOBS_CODEC.encode(blobs);
  return ANSWER_CODEC.encode({ length: encoded.length, deflated: Uint8Array.from(deflateRawSync(encoded)) });
}

/** Decodes a response with blobs. Stops with VALIDATION_ERROR if they inflate to another length than announced. Checks no hashes. */
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
