import { message, required } from '../message.ts';
import { messageCodec } from '../message-codec.ts';
import { hex } from '../message-encodings.ts';
import { list } from '../message-lists.ts';
import { bytes, choice, requireBytes } from '../message-scalars.ts';
import type { Place, ValueOf, WireType } from '../message-type.ts';
import { MAX_ANNOUNCEMENT_BYTES } from './announcement.ts';
import { MAX_VECTOR_HUBS, versionVector } from './version-vector.ts';

/** Longest body between two hubs, bytes. */
const MAX_BODY_BYTES = 4_194_304;
/** More than the announcements of 1 MiB. */
const MAX_ENVELOPES = 16_384;
/** Most statements that a question names. */
export const MAX_KNOWN_STATEMENTS = 65_536;
/** Most statements of an answer. */
export const MAX_TOLD_STATEMENTS = 16_384;
/** A window on the answer: an answer brings a thousand, and who keeps one keeps a copy. */
const ENVELOPE: WireType<Uint8Array> = { toCbor: requireEnvelope, fromCbor: requireEnvelope };

const SYNC_REQUEST = message({ vector: required(1, versionVector) });
const SYNC_ANSWER = message({
  vector: required(1, versionVector),
  /** What the other side does not know yet: signed announcements as they came, those of one hub in their order. */
  envelopes: required(2, list(ENVELOPE, { max: MAX_ENVELOPES })),
});

const STATEMENT = message({
  kind: required(1, choice({ member_revocation: 1, token_revocation: 2 })),
  bytes: required(2, bytes({ min: 1, max: 4_096 })),
});
const STATEMENT_REQUEST = message({
  /** First 16 bytes, hex, of the SHA-256 of each statement that is known already. */
  known: required(1, list(hex({ min: 16, max: 16 }), { max: MAX_KNOWN_STATEMENTS })),
});
const STATEMENT_ANSWER = message({ statements: required(1, list(STATEMENT, { max: MAX_TOLD_STATEMENTS })) });

export type SyncRequest = ValueOf<typeof SYNC_REQUEST>;
export type SyncAnswer = ValueOf<typeof SYNC_ANSWER>;
/** Something that is true for good: a revocation under its signature. */
export type SpreadStatement = ValueOf<typeof STATEMENT>;
export type StatementRequest = ValueOf<typeof STATEMENT_REQUEST>;
export type StatementAnswer = ValueOf<typeof STATEMENT_ANSWER>;

const SYNC_REQUEST_CODEC = messageCodec('SyncRequest', SYNC_REQUEST, { maxDepth: 3, maxItems: 6 + 2 * MAX_VECTOR_HUBS });
const SYNC_ANSWER_CODEC = messageCodec('SyncAnswer', SYNC_ANSWER, {
  maxBytes: MAX_BODY_BYTES,
  maxDepth: 3,
  maxItems: 8 + 2 * MAX_VECTOR_HUBS + MAX_ENVELOPES,
});
const STATEMENT_REQUEST_CODEC = messageCodec('StatementRequest', STATEMENT_REQUEST, {
  maxBytes: MAX_BODY_BYTES,
  maxDepth: 2,
  maxItems: 3 + MAX_KNOWN_STATEMENTS,
});
const STATEMENT_ANSWER_CODEC = messageCodec('StatementAnswer', STATEMENT_ANSWER, {
  maxBytes: MAX_BODY_BYTES,
  maxDepth: 3,
  maxItems: 4 + 5 * MAX_TOLD_STATEMENTS,
});

/** VALIDATION_ERROR, as each of these. */
export function encodeSyncRequest(value: SyncRequest): Uint8Array {
  return SYNC_REQUEST_CODEC.encode(value);
}

export function decodeSyncRequest(encoded: Uint8Array): SyncRequest {
  return SYNC_REQUEST_CODEC.decode(encoded);
}

export function encodeSyncAnswer(value: SyncAnswer): Uint8Array {
  return SYNC_ANSWER_CODEC.encode(value);
}

/** Nothing in it is verified. */
export function decodeSyncAnswer(encoded: Uint8Array): SyncAnswer {
  return SYNC_ANSWER_CODEC.decode(encoded);
}

export function encodeStatementRequest(value: StatementRequest): Uint8Array {
  return STATEMENT_REQUEST_CODEC.encode(value);
}

export function decodeStatementRequest(encoded: Uint8Array): StatementRequest {
  return STATEMENT_REQUEST_CODEC.decode(encoded);
}

export function encodeStatementAnswer(value: StatementAnswer): Uint8Array {
  return STATEMENT_ANSWER_CODEC.encode(value);
}

/** Nothing in it is verified. */
export function decodeStatementAnswer(encoded: Uint8Array): StatementAnswer {
  return STATEMENT_ANSWER_CODEC.decode(encoded);
}

function requireEnvelope(value: unknown, at: Place): Uint8Array {
  return requireBytes(value, at, { min: 1, max: MAX_ANNOUNCEMENT_BYTES });
}
