import type { KeyObject } from 'node:crypto';
import type { JsonObject } from '../../core/json.ts';
import { message, optional, required } from '../message.ts';
import { messageCodec, signedCodec } from '../message-codec.ts';
import { jsonObject } from '../message-json.ts';
import { kinds } from '../message-kinds.ts';
import { list } from '../message-lists.ts';
import { text } from '../message-scalars.ts';
import type { ValueOf } from '../message-type.ts';
import { CALL_ID, REQUEST_HEAD } from './call-parts.ts';

const SUBJECTS = list(text({ max: 256 }), { min: 1, max: 64 });

const QUERY = kinds('kind', {
  job_status: [1, message({ ...REQUEST_HEAD, jobId: required(7, CALL_ID) })],
  job_cancel: [2, message({ ...REQUEST_HEAD, jobId: required(7, CALL_ID) })],
  /** What became of a call whose answer was lost. */
  call_status: [3, message({ ...REQUEST_HEAD, requestId: required(7, CALL_ID) })],
  subscribe: [
    4,
    message({
      ...REQUEST_HEAD,
      /** Types of events, such as `device.changed`. */
      types: required(7, list(text({ max: 64 }), { min: 1, max: 32 })),
      /** What they have to be about; anything when absent. */
      subjects: optional(8, SUBJECTS),
    }),
  ],
});

/** A question to another hub in the name of a caller. */
export type MeshQuery = ValueOf<typeof QUERY>;
export type JobQuery = Extract<MeshQuery, { readonly kind: 'job_status' | 'job_cancel' }>;
export type CallStatusQuery = Extract<MeshQuery, { readonly kind: 'call_status' }>;
export type Subscribe = Extract<MeshQuery, { readonly kind: 'subscribe' }>;

const SIGNED = signedCodec(messageCodec('MeshQuery', QUERY, { maxBytes: 32_768, maxDepth: 2, maxItems: 128 }), 'atmosphere-edge query v1');
const EVENT_CODEC = messageCodec('SubscribedEvent', message({ event: required(1, jsonObject({ max: 61_440 })) }), {
  maxDepth: 1,
  maxItems: 3,
});

/** The question under the signature of the entry hub: the `signed` of a `ForwardedRequest`. VALIDATION_ERROR. */
export function signMeshQuery(query: MeshQuery, key: KeyObject): Uint8Array {
  return SIGNED.sign(query, key);
}

/** The question, once its signature has proven to be by the key that `keyOf` answers. VALIDATION_ERROR. */
export function openMeshQuery(signed: Uint8Array, keyOf: (unverified: MeshQuery) => KeyObject | undefined): MeshQuery {
  return SIGNED.open(signed, keyOf);
}

/** A CloudEvents 1.0 event in its JSON form. VALIDATION_ERROR. */
export function encodeSubscribedEvent(event: JsonObject): Uint8Array {
  return EVENT_CODEC.encode({ event });
}

/** VALIDATION_ERROR. */
export function decodeSubscribedEvent(encoded: Uint8Array): JsonObject {
  return EVENT_CODEC.decode(encoded).event;
}
