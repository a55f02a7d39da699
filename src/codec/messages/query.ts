import { jsonObject } from '../message-json.ts';
import {
  bytes,
  hubId,
  list,
  message,
  messageCodec,
  optional,
  required,
  signedCodec,
  text,
  uint,
  type ValueOf,
  variants,
} from '../message-schema.ts';
import { CALL_ID, REQUEST_HEAD } from './call.ts';

const SUBJECTS = list(text({ max: 256 }), { min: 1, max: 64 });

const QUERY = variants('kind', {
  job_status: [1, message({ ...REQUEST_HEAD, jobId: required(7, CALL_ID) })],
  job_cancel: [2, message({ ...REQUEST_HEAD, jobId: required(7, CALL_ID) })],
  /** The outcome of a call whose answer was lost. */
  call_status: [3, message({ ...REQUEST_HEAD, requestId: required(7, CALL_ID) })],
  subscribe: [
    4,
    message({
      ...REQUEST_HEAD,
      /** Types of events, such as `device.changed`. */
      types: required(7, list(text({ max: 64 }), { min: 1, max: 32 })),
      /** Subjects of the events; any when absent. */
      subjects: optional(8, SUBJECTS),
    }),
  ],
});

/** A query to another hub in the name of a caller. */
export type MeshQuery = ValueOf<typeof QUERY>;
/** Asks for the status of a job, or cancels it. */
export type JobQuery = Extract<MeshQuery, { readonly kind: 'job_status' | 'job_cancel' }>;
/** Asks for the outcome of a call. */
export type CallStatusQuery = Extract<MeshQuery, { readonly kind: 'call_status' }>;
/** Subscribes to events. */
export type Subscribe = Extract<MeshQuery, { readonly kind: 'subscribe' }>;

/** A query under the signature of the entry hub: the `signed` of a `ForwardedRequest`. */
export const meshQueryCodec = signedCodec(
  messageCodec('MeshQuery', QUERY, { maxBytes: 32_768, maxDepth: 2, maxItems: 128 }),
  'atmosphere-edge query v1',
);
/** A CloudEvents 1.0 event in its JSON form, the content of a part. */
export const subscribedEventCodec = messageCodec('SubscribedEvent', message({ event: required(1, jsonObject({ max: 61_440 })) }), {
  maxDepth: 1,
  maxItems: 3,
});

const PART = message({
  /** The request that the part answers. */
  requestId: required(1, CALL_ID),
  /** The hub whose key signs. */
  executingHub: required(2, hubId),
  /** Counts the parts from 0, so that a withheld or repeated part is detected. */
  sequence: required(3, uint()),
  content: required(4, bytes({ min: 1, max: 48_128 })),
});

/** A message before the answer: an event of a subscription, or the progress of a call. */
export type ResponsePart = ValueOf<typeof PART>;

/** A part under the signature of the executing hub. */
export const partCodec = signedCodec(messageCodec('Part', PART, { maxBytes: 48_640, maxDepth: 1, maxItems: 9 }), 'atmosphere-edge part v1');
/** Progress and partial results of a call, the content of a part. */
export const toolChunkCodec = messageCodec('ToolChunk', message({ chunk: required(1, jsonObject({ max: 40_960 })) }), {
  maxDepth: 1,
  maxItems: 3,
});
