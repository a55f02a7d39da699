import type { KeyObject } from 'node:crypto';
import { type ErrorBody, isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonSchema } from '../../core/json.ts';
import { blake3Hex } from '../hashes.ts';
import { joinedJson, jsonPieces, MAX_BYTE_STRINGS, writtenJson } from '../json-pieces.ts';
import { message, required } from '../message.ts';
import { messageCodec, signedCodec } from '../message-codec.ts';
import { hex, hubId } from '../message-encodings.ts';
import { parseJson } from '../message-json.ts';
import { bytes, choice, uint } from '../message-scalars.ts';
import { type Place, refuse, type ValueOf } from '../message-type.ts';
import { CALL_ID } from './call-parts.ts';

/** Longest result or error as it travels, bytes. */
const MAX_CONTENT_BYTES = 4_128_768;

const STATEMENT = message({
  id: required(1, CALL_ID),
  requestId: required(2, CALL_ID),
  status: required(3, choice({ success: 1, error: 2 })),
  execution: required(
    4,
    message({
      nodeId: required(1, hubId),
      /** Microseconds. */
      durationUs: required(2, uint()),
      hops: required(3, uint({ max: 255 })),
    }),
  ),
  /** BLAKE3, hex, of the RFC 8785 text of the result or error. */
  responseHash: required(5, hex({ min: 32, max: 32 })),
  /** By the clock of the executing hub, milliseconds since 1970. */
  timeMs: required(6, uint()),
});

type ResponseStatement = ValueOf<typeof STATEMENT>;
type Status<Kind extends ResponseStatement['status'], Content> = Omit<ResponseStatement, 'status' | 'responseHash'> & {
  readonly status: Kind;
} & Content;

/** The answer of another hub to a call (source 000 §4, `tool_response`). */
export type ToolResponse = Status<'success', { readonly result: Json }> | Status<'error', { readonly error: ErrorBody }>;

const SIGNED = signedCodec(
  messageCodec('ToolResponse', STATEMENT, { maxBytes: 1_024, maxDepth: 2, maxItems: 24 }),
  'atmosphere-edge tool_response v1',
);
const ENVELOPE_CODEC = messageCodec(
  'ToolResponse',
  message({
    /** All but the content, COSE_Sign1 by the executing hub. */
    signed: required(1, bytes({ min: 1, max: 2_048 })),
    /** RFC 8785 text of the result or error; the signed part has its hash. */
    content: required(2, jsonPieces({ max: MAX_CONTENT_BYTES, arrives: 'in one' })),
  }),
  { maxBytes: MAX_CONTENT_BYTES + 4_096, maxDepth: 2, maxItems: 6 + 2 * MAX_BYTE_STRINGS },
);

/** The answer under the signature of the executing hub, as it travels; `returns` says which of it are bytes. VALIDATION_ERROR. */
export function signToolResponse(response: ToolResponse, key: KeyObject, returns: JsonSchema = {}): Uint8Array {
  const { id, requestId, status, execution, timeMs } = response;
  const { text, pieces } = response.status === 'success' ? writtenJson(response.result, returns) : writtenJson({ ...response.error }, {});
  const statement = { id, requestId, status, execution, timeMs, responseHash: blake3Hex(text) };
  return ENVELOPE_CODEC.encode({ signed: SIGNED.sign(statement, key), content: pieces });
}

/** The answer, once its signature has proven to be by the key that `keyOf` answers. VALIDATION_ERROR. */
export function openToolResponse(
  encoded: Uint8Array,
  keyOf: (unverified: ResponseStatement) => KeyObject | undefined,
): ToolResponse & { readonly responseHash: string } {
  const { signed, content: pieces } = ENVELOPE_CODEC.decode(encoded);
  const content = joinedJson(pieces);
  const { status, ...statement } = SIGNED.open(signed, keyOf);
  const place = { within: { within: undefined, step: 'ToolResponse' }, step: status === 'success' ? 'result' : 'error' };
  if (blake3Hex(content) !== statement.responseHash) refuse(place, 'is not what was signed');
  const value = parseJson(content, place);
  if (status === 'success') return { ...statement, status, result: value };
  return { ...statement, status, error: errorBody(value, place) };
}

/** A code that this hub does not know is INTERNAL_ERROR. */
function errorBody(value: Json, at: Place): ErrorBody {
  const { code, message: text, details, retryable } = isJsonObject(value) ? value : refuse(at, 'is not a JSON object');
  if (typeof code !== 'string' || typeof text !== 'string' || !isJsonObject(details) || typeof retryable !== 'boolean') {
    return refuse(at, 'does not have code, message, details and retryable');
  }
  return { code: isErrorCode(code) ? code : 'INTERNAL_ERROR', message: text, details, retryable };
}
