import type { JsonObject, JsonSchema } from '../../core/json.ts';
import { jsonPieces, MAX_BYTE_STRINGS, parseJsonObject, writtenJson } from '../message-json.ts';
import { choice, message, messageCodec, optional, required, text, uint, type ValueOf, type ValuePath } from '../message-schema.ts';
import { CALL_ID, MAX_CONTENT_BYTES, MAX_FORWARDED_PARAMS, parseContent, type ResponseContent, TOKEN } from './call.ts';

const CALL = message({
  id: required(1, CALL_ID),
  /** The executing hub's epoch, as announced. The call is valid only in this epoch. */
  executorEpoch: required(2, uint()),
  token: required(3, TOKEN),
  tool: required(4, text({ max: 256 })),
  /** Semver range, such as `>=1.0.0`. */
  version: optional(5, text({ max: 128 })),
  params: required(6, jsonPieces({ max: MAX_FORWARDED_PARAMS, arrives: 'in one' })),
  agentId: required(7, text({ max: 320 })),
  sessionId: optional(8, CALL_ID),
  traceId: required(9, CALL_ID),
  /** Remaining time in milliseconds. */
  remainingMs: required(10, uint({ max: 0xffff_ffff })),
  /** Time of the receiver's monotonic clock, in milliseconds, after which the caller no longer waits. `remainingMs` holds too. */
  deadlineMs: optional(11, uint()),
  idempotencyKey: optional(12, text({ max: 256 })),
  mode: required(13, choice({ sync: 1, job: 2 })),
});

const CALL_CODEC = messageCodec('SessionCall', CALL, { maxBytes: 1_179_648, maxDepth: 2, maxItems: 32 + 2 * MAX_BYTE_STRINGS });
const CALL_PARAMS: ValuePath = { within: { within: undefined, step: 'SessionCall' }, step: 'params' };

/** Call of a tool on a directly connected hub, which nobody signs: the authenticated session shows which hub sends it, and to which. */
export type SessionCall = Omit<ValueOf<typeof CALL>, 'params'> & { readonly params: JsonObject };

/** Encodes a call. Strings that `parameters` declares as base64 become bytes. Throws VALIDATION_ERROR above a limit. */
export function encodeSessionCall({ params, ...call }: SessionCall, parameters: JsonSchema = {}): Uint8Array {
  return CALL_CODEC.encode({ ...call, params: writtenJson(params, parameters).pieces });
}

/** Decodes a call. Throws VALIDATION_ERROR if it is not the output of `encodeSessionCall`. */
export function decodeSessionCall(bytes: Uint8Array): SessionCall {
  const { params, ...call } = CALL_CODEC.decode(bytes);
  return { ...call, params: parseJsonObject(String(params), CALL_PARAMS) };
}

const ANSWER_CODEC = messageCodec(
  'SessionAnswer',
  message({
    status: required(1, choice({ success: 1, error: 2 })),
    /** RFC 8785 text of the result or error. */
    content: required(2, jsonPieces({ max: MAX_CONTENT_BYTES, arrives: 'in one' })),
  }),
  { maxBytes: MAX_CONTENT_BYTES + 4_096, maxDepth: 2, maxItems: 6 + 2 * MAX_BYTE_STRINGS },
);

/** Encodes the answer to a `SessionCall`, which nobody signs. Strings that `returns` declares as base64 become bytes. Throws VALIDATION_ERROR above a limit. */
export function encodeSessionAnswer(answer: ResponseContent, returns: JsonSchema = {}): Uint8Array {
  const { status } = answer;
  const { pieces } = status === 'success' ? writtenJson(answer.result, returns) : writtenJson({ ...answer.error }, {});
  return ANSWER_CODEC.encode({ status, content: pieces });
}

/** Decodes an answer. Throws VALIDATION_ERROR if it is not the output of `encodeSessionAnswer`. */
export function decodeSessionAnswer(bytes: Uint8Array): ResponseContent {
  const { status, content } = ANSWER_CODEC.decode(bytes);
  return parseContent(status, String(content), 'SessionAnswer');
}
