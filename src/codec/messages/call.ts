import type { KeyObject } from 'node:crypto';
import { type ErrorBody, isErrorCode } from '../../core/errors.ts';
import { MAX_IDEMPOTENCY_KEY_BYTES } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { blake3Hex, sha256Hex } from '../hashes.ts';
import { joinedJson, jsonObject, jsonPieces, MAX_BYTE_STRINGS, parseJson, parseJsonObject, writtenJson } from '../message-json.ts';
import {
  base64url,
  bytes,
  choice,
  hex,
  hubId,
  list,
  message,
  messageCodec,
  optional,
  refuse,
  required,
  signedCodec,
  text,
  uint,
  type ValueOf,
  type ValuePath,
  variants,
} from '../message-schema.ts';
import { CERTIFICATE_CHAIN, SITE } from './membership.ts';

const MAX_TOKEN_BYTES = 2_048;

/** Maximum length of a call's parameters in bytes of JSON text, if the call goes to another hub. */
export const MAX_FORWARDED_PARAMS = 1_048_576;

/** Wire type of an id that a hub creates for a request, response, session or trace. */
export const CALL_ID = text({ max: 128 });
/** Wire type of a token: text in TypeScript, bytes on the wire. */
export const TOKEN = base64url({ min: 1, max: MAX_TOKEN_BYTES, prefix: 'at1.' });

/** Fields 1 to 6 of every request to another hub. The entry hub, which received the call from its caller, signs the request. */
const REQUEST_HEAD = {
  id: required(1, CALL_ID),
  /** Hub that signs the request. */
  entryHub: required(2, hubId),
  executingHub: required(3, hubId),
  /** The executing hub's epoch, as announced. The request is valid only in this epoch. */
  executorEpoch: required(4, uint()),
  /** Time of the request by the clock of the entry hub, in milliseconds since 1970. */
  timeMs: required(5, uint()),
  /** Token of the caller: text that begins with `at1.`. */
  token: required(6, TOKEN),
};

/** Wire type of a forwarded request. */
const FORWARDED = message({
  /** COSE_Sign1 message with the request, signed by the entry hub; hubs that forward it do not change it. */
  signed: required(1, bytes({ min: 1, max: 65_536 })),
  /** RFC 8785 text of the call's parameters. The signed request contains the hash of this text. */
  params: optional(2, jsonPieces({ max: MAX_FORWARDED_PARAMS, arrives: 'in pieces' })),
  /** Remaining time in milliseconds. Each hub subtracts the time that it used. */
  remainingMs: required(3, uint({ max: 0xffff_ffff })),
  /** Maximum number of hops after the receiver's next hop. If it is 0, the receiver can forward the request only to the executing hub. */
  hopsLeft: required(4, uint({ max: 255 })),
  /** Hubs that the request has passed so far, the entry hub first. */
  visited: required(5, list(hubId, { min: 1, max: 32 })),
  /** Time of the receiver's monotonic clock, in milliseconds, after which the caller no longer waits. `remainingMs` holds too. */
  deadlineMs: optional(6, uint()),
  /** Certificate of the entry hub, if the executing hub is of another site and may not know the entry hub. */
  certificate: optional(7, CERTIFICATE_CHAIN),
  /** Site of the executing hub, if that is another site than the one of the entry hub. */
  site: optional(8, SITE),
});

/** Forwarded request: the signed request, and the fields that each forwarding hub changes. */
export type ForwardedRequest = ValueOf<typeof FORWARDED>;

const NODES = list(text({ max: 256 }), { min: 1, max: 64 });

const TOOL_INVOKE = message({
  ...REQUEST_HEAD,
  tool: required(7, text({ max: 256 })),
  /** Semver range, such as `>=1.0.0`. */
  version: optional(8, text({ max: 128 })),
  /** SHA-256, in hex, of the RFC 8785 text of the parameters. */
  paramsHash: required(9, hex({ min: 32, max: 32 })),
  context: required(
    10,
    message({ agentId: required(1, text({ max: 320 })), sessionId: optional(2, CALL_ID), traceId: required(3, CALL_ID) }),
  ),
  routing: required(
    11,
    message({
      hopBudget: required(1, uint({ max: 255 })),
      preferNodes: optional(2, NODES),
      excludeNodes: optional(3, NODES),
    }),
  ),
  /** Time limit in milliseconds that the call had when the entry hub signed it. */
  timeoutMs: required(12, uint({ max: 0xffff_ffff })),
  idempotencyKey: optional(13, text({ max: MAX_IDEMPOTENCY_KEY_BYTES })),
  /** With `job`, the executing hub returns a job at once. With `waiting_job`, the job waits if people have to approve the call first. */
  mode: required(14, choice({ sync: 1, job: 2, waiting_job: 3 })),
});

type InvokeStatement = ValueOf<typeof TOOL_INVOKE>;
/** Call of a tool on another hub. */
export type ToolInvoke = Omit<InvokeStatement, 'paramsHash'> & { readonly params: JsonObject };
/** Fields of a forwarded call whose content stays the same on the whole route. */
export type SignedInvoke = Required<Pick<ForwardedRequest, 'signed' | 'params'>>;

const SIGNED_INVOKE = signedCodec(
  messageCodec('ToolInvoke', TOOL_INVOKE, { maxBytes: 32_768, maxDepth: 3, maxItems: 512 }),
  'atmosphere-edge tool_invoke v1',
);
/** Codec of a request in the form that is sent to the next hub; decoding verifies no signature. */
export const forwardedRequestCodec = messageCodec('ForwardedRequest', FORWARDED, {
  maxBytes: 1_179_648,
  maxDepth: 2,
  maxItems: 72 + 2 * MAX_BYTE_STRINGS,
});

/** Signs a call as the entry hub. Strings that `parameters` declares as base64 become bytes. Throws VALIDATION_ERROR above a limit. */
export function signToolInvoke({ params, ...statement }: ToolInvoke, key: KeyObject, parameters: JsonSchema = {}): SignedInvoke {
  const { text, pieces } = writtenJson(params, parameters);
  return { signed: SIGNED_INVOKE.sign({ ...statement, paramsHash: sha256Hex(text) }, key), params: pieces };
}

/**
 * Verifies a call and its parameters with the key that `keyOf` returns, and returns the call. `keyOf` receives the unverified call, and may
 * throw to reject it before the costly verification. Throws VALIDATION_ERROR if the call is not valid.
 */
export function openToolInvoke(
  request: Pick<ForwardedRequest, 'signed' | 'params'>,
  keyOf: (unverified: InvokeStatement) => KeyObject | undefined,
): ToolInvoke {
  const { paramsHash, ...statement } = SIGNED_INVOKE.open(request.signed, keyOf);
  const place = { within: { within: undefined, step: 'ToolInvoke' }, step: 'params' };
  const paramsText = joinedJson(request.params ?? '');
  if (sha256Hex(paramsText) !== paramsHash) refuse(place, 'is not what was signed');
  return { ...statement, params: parseJsonObject(paramsText, place) };
}

/** Maximum length, in bytes, of a result or error on the wire. */
export const MAX_CONTENT_BYTES = 4_128_768;

const STATEMENT = message({
  id: required(1, CALL_ID),
  requestId: required(2, CALL_ID),
  status: required(3, choice({ success: 1, error: 2 })),
  execution: required(
    4,
    message({
      nodeId: required(1, hubId),
      durationUs: required(2, uint()),
      hops: required(3, uint({ max: 255 })),
    }),
  ),
  /** BLAKE3 hash, in hex, of the RFC 8785 text of the result or error. */
  responseHash: required(5, hex({ min: 32, max: 32 })),
  /** Time of the response by the clock of the executing hub, in milliseconds since 1970. */
  timeMs: required(6, uint()),
});

type ResponseStatement = ValueOf<typeof STATEMENT>;
type Status<Kind extends ResponseStatement['status'], Content> = Omit<ResponseStatement, 'status' | 'responseHash'> & {
  readonly status: Kind;
} & Content;

/** Response of another hub to a call. */
export type ToolResponse = Status<'success', { readonly result: Json }> | Status<'error', { readonly error: ErrorBody }>;

const SIGNED = signedCodec(
  messageCodec('ToolResponse', STATEMENT, { maxBytes: 1_024, maxDepth: 2, maxItems: 24 }),
  'atmosphere-edge tool_response v1',
);
const ENVELOPE_CODEC = messageCodec(
  'ToolResponse',
  message({
    /** COSE_Sign1 message with all fields of the response except its content. The executing hub signs it. */
    signed: required(1, bytes({ min: 1, max: 2_048 })),
    /** RFC 8785 text of the result or error. The signed message contains the hash of this text. */
    content: required(2, jsonPieces({ max: MAX_CONTENT_BYTES, arrives: 'in one' })),
  }),
  { maxBytes: MAX_CONTENT_BYTES + 4_096, maxDepth: 2, maxItems: 6 + 2 * MAX_BYTE_STRINGS },
);

/** Signs a response as the executing hub. Strings that `returns` declares as base64 become bytes. Throws VALIDATION_ERROR above a limit. */
export function signToolResponse(response: ToolResponse, key: KeyObject, returns: JsonSchema = {}): Uint8Array {
  const { id, requestId, status, execution, timeMs } = response;
  const { text, pieces } = response.status === 'success' ? writtenJson(response.result, returns) : writtenJson({ ...response.error }, {});
  const statement = { id, requestId, status, execution, timeMs, responseHash: blake3Hex(text) };
  return ENVELOPE_CODEC.encode({ signed: SIGNED.sign(statement, key), content: pieces });
}

/** Verifies a response with the key that `keyOf` returns, and returns the response. Throws VALIDATION_ERROR if it is not valid. */
export function openToolResponse(
  encoded: Uint8Array,
  keyOf: (unverified: ResponseStatement) => KeyObject | undefined,
): ToolResponse & { readonly responseHash: string } {
  const { signed, content: pieces } = ENVELOPE_CODEC.decode(encoded);
  const content = joinedJson(pieces);
  const { status, ...statement } = SIGNED.open(signed, keyOf);
  if (blake3Hex(content) !== statement.responseHash) refuse(placeOf(status, 'ToolResponse'), 'is not what was signed');
  return { ...statement, ...parseContent(status, content, 'ToolResponse') };
}

/** Content of a response: the result of a call, or its error. */
export type ResponseContent =
  | { readonly status: 'success'; readonly result: Json }
  | { readonly status: 'error'; readonly error: ErrorBody };

/** Parses the RFC 8785 text of a result or error. Throws VALIDATION_ERROR, which names the message, for any other text. */
export function parseContent(status: ResponseContent['status'], content: string, message: string): ResponseContent {
  const place = placeOf(status, message);
  const value = parseJson(content, place);
  return status === 'success' ? { status, result: value } : { status, error: errorBody(value, place) };
}

function placeOf(status: ResponseContent['status'], message: string): ValuePath {
  return { within: { within: undefined, step: message }, step: status === 'success' ? 'result' : 'error' };
}

/** Parses an error; an error code that this hub does not know becomes INTERNAL_ERROR. */
function errorBody(value: Json, at: ValuePath): ErrorBody {
  const { code, message: text, details, retryable } = isJsonObject(value) ? value : refuse(at, 'is not a JSON object');
  if (typeof code !== 'string' || typeof text !== 'string' || !isJsonObject(details) || typeof retryable !== 'boolean') {
    return refuse(at, 'does not have code, message, details and retryable');
  }
  return { code: isErrorCode(code) ? code : 'INTERNAL_ERROR', message: text, details, retryable };
}

const SUBJECTS = list(text({ max: 256 }), { min: 1, max: 64 });

const QUERY = variants('kind', {
  job_status: [1, message({ ...REQUEST_HEAD, jobId: required(7, CALL_ID) })],
  job_cancel: [2, message({ ...REQUEST_HEAD, jobId: required(7, CALL_ID) })],
  /** Query for the outcome of a call whose response was lost. */
  call_status: [3, message({ ...REQUEST_HEAD, requestId: required(7, CALL_ID) })],
  subscribe: [
    4,
    message({
      ...REQUEST_HEAD,
      /** Event types, such as `device.changed`. */
      types: required(7, list(text({ max: 64 }), { min: 1, max: 32 })),
      /** Subjects of the events; if absent, events of all subjects are sent. */
      subjects: optional(8, SUBJECTS),
    }),
  ],
});

/** Query to another hub on behalf of a caller. */
export type MeshQuery = ValueOf<typeof QUERY>;
/** Query that asks for the status of a job, or cancels the job. */
export type JobQuery = Extract<MeshQuery, { readonly kind: 'job_status' | 'job_cancel' }>;
/** Query for the outcome of a call. */
export type CallStatusQuery = Extract<MeshQuery, { readonly kind: 'call_status' }>;
/** Query that subscribes to events. */
export type Subscribe = Extract<MeshQuery, { readonly kind: 'subscribe' }>;

/** Codec of a query that the entry hub signs. The signed query is sent in the field `signed` of a `ForwardedRequest`. */
export const meshQueryCodec = signedCodec(
  messageCodec('MeshQuery', QUERY, { maxBytes: 32_768, maxDepth: 2, maxItems: 128 }),
  'atmosphere-edge query v1',
);
/** Codec of a CloudEvents 1.0 event in JSON form. The encoded event is the content of a response part. */
export const subscribedEventCodec = messageCodec('SubscribedEvent', message({ event: required(1, jsonObject({ max: 61_440 })) }), {
  maxDepth: 1,
  maxItems: 3,
});

const PART = message({
  requestId: required(1, CALL_ID),
  /** Hub that signs the part. */
  executingHub: required(2, hubId),
  /** Number of the part, from 0. Gaps and repeats show that parts were withheld or sent twice. */
  sequence: required(3, uint()),
  content: required(4, bytes({ min: 1, max: 48_128 })),
});

/** Message that the executing hub sends before its response: an event of a subscription, or the progress of a call. */
export type ResponsePart = ValueOf<typeof PART>;

/** Codec of a response part, which the executing hub signs. */
export const partCodec = signedCodec(messageCodec('Part', PART, { maxBytes: 48_640, maxDepth: 1, maxItems: 9 }), 'atmosphere-edge part v1');
/** Codec of the progress and partial results of a call. The encoded progress is the content of a response part. */
export const toolChunkCodec = messageCodec('ToolChunk', message({ chunk: required(1, jsonObject({ max: 40_960 })) }), {
  maxDepth: 1,
  maxItems: 3,
});
