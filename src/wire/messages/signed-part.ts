import type { KeyObject } from 'node:crypto';
import type { JsonObject } from '../../core/json.ts';
import { message, required } from '../message.ts';
import { messageCodec, signedCodec } from '../message-codec.ts';
import { hubId } from '../message-encodings.ts';
import { jsonObject } from '../message-json.ts';
import { bytes, uint } from '../message-scalars.ts';
import type { ValueOf } from '../message-type.ts';
import { CALL_ID } from './call-parts.ts';

const PART = message({
  /** The request that it is a part of the answer to. */
  requestId: required(1, CALL_ID),
  /** The hub whose key signs. */
  executingHub: required(2, hubId),
  /** 0 for the first part, and one more for each: a part that was kept back or told twice is noticed. */
  sequence: required(3, uint()),
  content: required(4, bytes({ min: 1, max: 48_128 })),
});

/** Something that a hub tells before its answer: an event of a subscription, or how far a call is. */
export type Part = ValueOf<typeof PART>;

const SIGNED = signedCodec(messageCodec('Part', PART, { maxBytes: 48_640, maxDepth: 1, maxItems: 9 }), 'atmosphere-edge part v1');
const CHUNK_CODEC = messageCodec('ToolChunk', message({ chunk: required(1, jsonObject({ max: 40_960 })) }), { maxDepth: 1, maxItems: 3 });

/** The part under the signature of the executing hub. VALIDATION_ERROR. */
export function signPart(part: Part, key: KeyObject): Uint8Array {
  return SIGNED.sign(part, key);
}

/** The part, once its signature has proven to be by the key that `keyOf` answers. VALIDATION_ERROR. */
export function openPart(signed: Uint8Array, keyOf: (unverified: Part) => KeyObject | undefined): Part {
  return SIGNED.open(signed, keyOf);
}

/** How far a call is and what it has found so far, the content of a part. VALIDATION_ERROR. */
export function encodeToolChunk(chunk: JsonObject): Uint8Array {
  return CHUNK_CODEC.encode({ chunk });
}

/** VALIDATION_ERROR. */
export function decodeToolChunk(encoded: Uint8Array): JsonObject {
  return CHUNK_CODEC.decode(encoded).chunk;
}
