import { required, tuple } from '../message.ts';
import { messageCodec } from '../message-codec.ts';
import { kinds } from '../message-kinds.ts';
import { bytes, text, uint } from '../message-scalars.ts';
import type { ValueOf } from '../message-type.ts';

/** Longest frame, bytes. */
const MAX_FRAME_BYTES = 65_536;
/** Longest text of an error or goodbye, UTF-8 bytes. */
const MAX_MESSAGE_BYTES = 8_192;
/** Longest piece of a body; the rest of a frame is room for its head. */
const PIECE = bytes({ max: MAX_FRAME_BYTES - 64 });
const ID = uint();

const FRAME = kinds('type', {
  /** Longer bodies begin with chunks of the same id. `kind` is a number of REQUEST_KINDS. */
  request: [1, tuple({ id: required(0, ID), kind: required(1, uint({ max: 255 })), body: required(2, PIECE) })],
  accept: [2, tuple({ id: required(0, ID) })],
  result: [3, tuple({ id: required(0, ID), body: required(1, PIECE) })],
  /** `details` is the text of a JSON object. */
  error: [
    4,
    tuple({
      id: required(0, ID),
      code: required(1, text({ max: 64, pattern: /^[A-Z][A-Z_]*$/ })),
      message: required(2, text({ min: 0, max: MAX_MESSAGE_BYTES })),
      details: required(3, text({ min: 2, max: 49_152 })),
    }),
  ],
  part: [5, tuple({ id: required(0, ID), sequence: required(1, ID), bytes: required(2, PIECE) })],
  /** So many more bytes may be sent. */
  credit: [6, tuple({ id: required(0, ID), bytes: required(1, uint({ min: 1, max: 0xffff_ffff })) })],
  cancel: [7, tuple({ id: required(0, ID) })],
  /** The pong has the number of the ping. */
  ping: [8, tuple({ number: required(0, ID) })],
  pong: [9, tuple({ number: required(0, ID) })],
  goodbye: [10, tuple({ reason: required(0, text({ min: 0, max: MAX_MESSAGE_BYTES })) })],
  /** A piece of a body of which the last piece comes in a request or result. */
  chunk: [11, tuple({ id: required(0, ID), bytes: required(1, PIECE) })],
});

/** What travels on the control stream between two hubs. */
export type Frame = ValueOf<typeof FRAME>;

const CODEC = messageCodec('Frame', FRAME, { maxBytes: MAX_FRAME_BYTES, maxDepth: 1, maxItems: 8 });

/** The frame's bytes, at most 65,536. VALIDATION_ERROR names the member that is out of bounds. */
export function encodeFrame(frame: Frame): Uint8Array {
  return CODEC.encode(frame);
}

/** VALIDATION_ERROR says what is wrong with the bytes and where. */
export function decodeFrame(encoded: Uint8Array): Frame {
  return CODEC.decode(encoded);
}
