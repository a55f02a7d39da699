import type { KeyObject } from 'node:crypto';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import { sha256Hex } from '../hashes.ts';
import { joinedJson, MAX_BYTE_STRINGS, writtenJson } from '../json-pieces.ts';
import { message, optional, required } from '../message.ts';
import { messageCodec, signedCodec } from '../message-codec.ts';
import { hex } from '../message-encodings.ts';
import { parseJsonObject } from '../message-json.ts';
import { list } from '../message-lists.ts';
import { choice, text, uint } from '../message-scalars.ts';
import { refuse, type ValueOf } from '../message-type.ts';
import { CALL_ID, FORWARDED, type ForwardedRequest, REQUEST_HEAD } from './call-parts.ts';

const NODES = list(text({ max: 256 }), { min: 1, max: 64 });

const TOOL_INVOKE = message({
  ...REQUEST_HEAD,
  /** Name or canonical id. */
  tool: required(7, text({ max: 256 })),
  /** Semver range, such as `>=1.0.0`. */
  version: optional(8, text({ max: 128 })),
  /** SHA-256, hex, of the RFC 8785 text of the parameters. */
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
  /** Time limit of the call when it was signed. */
  timeoutMs: required(12, uint({ max: 0xffff_ffff })),
  idempotencyKey: optional(13, text({ max: 256 })),
  /** `job`: answered with a job at once. */
  mode: required(14, choice({ sync: 1, job: 2 })),
});

type InvokeStatement = ValueOf<typeof TOOL_INVOKE>;
/** A call of a tool on another hub (source 000 §4, `tool_invoke`). */
export type ToolInvoke = Omit<InvokeStatement, 'paramsHash'> & { readonly params: JsonObject };
/** What of a call no hub on the way changes. */
export type SignedInvoke = Required<Pick<ForwardedRequest, 'signed' | 'params'>>;

const SIGNED_INVOKE = signedCodec(
  messageCodec('ToolInvoke', TOOL_INVOKE, { maxBytes: 32_768, maxDepth: 3, maxItems: 512 }),
  'atmosphere-edge tool_invoke v1',
);
const FORWARDED_CODEC = messageCodec('ForwardedRequest', FORWARDED, {
  maxBytes: 1_179_648,
  maxDepth: 2,
  maxItems: 64 + 2 * MAX_BYTE_STRINGS,
});

/** The call under the signature of the entry hub; `parameters` says which of them are bytes. VALIDATION_ERROR. */
export function signToolInvoke({ params, ...statement }: ToolInvoke, key: KeyObject, parameters: JsonSchema = {}): SignedInvoke {
  const { text, pieces } = writtenJson(params, parameters);
  return { signed: SIGNED_INVOKE.sign({ ...statement, paramsHash: sha256Hex(text) }, key), params: pieces };
}

/**
 * The call, once its signature has proven to be by the key that `keyOf` answers, and its parameters are those that were signed.
 * `keyOf` may throw for a call that is not for this hub, before the cost of a verification. VALIDATION_ERROR.
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

/** A request as it travels to the next hub. VALIDATION_ERROR. */
export function encodeForwardedRequest(request: ForwardedRequest): Uint8Array {
  return FORWARDED_CODEC.encode(request);
}

/** Nothing in it is verified. VALIDATION_ERROR. */
export function decodeForwardedRequest(encoded: Uint8Array): ForwardedRequest {
  return FORWARDED_CODEC.decode(encoded);
}
