import {
  bytes,
  hex,
  meshId,
  message,
  messageCodec,
  optional,
  required,
  text,
  tuple,
  uint,
  type ValueOf,
  variants,
} from '../message-schema.ts';
import { CERTIFICATE_CHAIN, MAX_STATEMENT_BYTES } from './membership.ts';

const VERSION = uint({ max: 255 });

const HANDSHAKE_MESSAGE = variants('kind', {
  /** A member presents its certificate; the other hub answers with its own. */
  hello: [1, message({ version: required(1, VERSION), meshId: required(2, meshId), certificate: required(3, CERTIFICATE_CHAIN) })],
  /** A hub with an invite asks to become a member. */
  join: [
    2,
    message({
      version: required(1, VERSION),
      meshId: required(2, meshId),
      /** 8 bytes, hex. */
      inviteId: required(3, hex({ min: 8, max: 8 })),
      /** HMAC-SHA-256 under the secret of the invite. */
      proof: required(4, bytes({ min: 32, max: 32 })),
      /** For people. */
      name: required(5, text({ max: 256 })),
    }),
  ],
  /** The joiner becomes a member. */
  grant: [3, message({ responder: required(1, CERTIFICATE_CHAIN), certificate: required(2, CERTIFICATE_CHAIN) })],
  /** `code` is an error code of the table. */
  refusal: [
    4,
    message({
      code: required(1, text({ max: 64, pattern: /^[A-Z][A-Z_]*$/ })),
      message: required(2, text({ min: 0, max: 1_024 })),
      /** For a revoked hub: the statement, which no other hub would send to it. */
      revocation: optional(3, bytes({ min: 1, max: MAX_STATEMENT_BYTES })),
    }),
  ],
});

/** A message between two hubs right after the handshake of the transport. */
export type HandshakeMessage = ValueOf<typeof HANDSHAKE_MESSAGE>;

/** At most 8 KiB. */
export const handshakeCodec = messageCodec('GateMessage', HANDSHAKE_MESSAGE, { maxBytes: 8_192, maxDepth: 2, maxItems: 32 });

/** Longest frame, bytes. */
const MAX_FRAME_BYTES = 65_536;
/** Longest text of an error or goodbye, UTF-8 bytes. */
const MAX_MESSAGE_BYTES = 8_192;
/** Longest piece of a body; the rest of a frame is its head. */
const PIECE = bytes({ max: MAX_FRAME_BYTES - 64 });
const ID = uint();

const FRAME = variants('type', {
  /** Chunks of the same id precede it where the body is longer. `kind` is a number of REQUEST_KINDS. */
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
  /** The receiver may send this many more bytes. */
  credit: [6, tuple({ id: required(0, ID), bytes: required(1, uint({ min: 1, max: 0xffff_ffff })) })],
  cancel: [7, tuple({ id: required(0, ID) })],
  /** The pong has the number of the ping. */
  ping: [8, tuple({ number: required(0, ID) })],
  pong: [9, tuple({ number: required(0, ID) })],
  goodbye: [10, tuple({ reason: required(0, text({ min: 0, max: MAX_MESSAGE_BYTES })) })],
  /** A piece of a body; its last piece is in a request or result. */
  chunk: [11, tuple({ id: required(0, ID), bytes: required(1, PIECE) })],
});

/** A frame on the control stream between two hubs. */
export type Frame = ValueOf<typeof FRAME>;

/** At most 64 KiB. */
export const frameCodec = messageCodec('Frame', FRAME, { maxBytes: MAX_FRAME_BYTES, maxDepth: 1, maxItems: 8 });
