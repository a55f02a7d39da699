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
  /** A member of the mesh sends its certificate. The other hub responds with its own certificate. */
  hello: [1, message({ version: required(1, VERSION), meshId: required(2, meshId), certificate: required(3, CERTIFICATE_CHAIN) })],
  /** A hub with an invite requests membership. */
  join: [
    2,
    message({
      version: required(1, VERSION),
      meshId: required(2, meshId),
      inviteId: required(3, hex({ min: 8, max: 8 })),
      /** Proof that the joining hub has the secret of the invite: an HMAC-SHA-256 with this secret as key. */
      proof: required(4, bytes({ min: 32, max: 32 })),
      /** Name of the joining hub, for people. */
      name: required(5, text({ max: 256 })),
    }),
  ],
  /** The joining hub becomes a member. `certificate` is its new certificate, and `responder` is the certificate of the inviting hub. */
  grant: [3, message({ responder: required(1, CERTIFICATE_CHAIN), certificate: required(2, CERTIFICATE_CHAIN) })],
  /** The hub refuses the connection; `code` is an AtmoError code. */
  refusal: [
    4,
    message({
      code: required(1, text({ max: 64, pattern: /^[A-Z][A-Z_]*$/ })),
      message: required(2, text({ min: 0, max: 1_024 })),
      /** Statement that revoked the receiver. A revoked hub can receive it only here, because every member refuses its connections. */
      revocation: optional(3, bytes({ min: 1, max: MAX_STATEMENT_BYTES })),
    }),
  ],
});

/** Message of the handshake between two hubs. This handshake follows the handshake of the transport. */
export type HandshakeMessage = ValueOf<typeof HANDSHAKE_MESSAGE>;

/** Codec of handshake messages of at most 8 KiB. */
export const handshakeCodec = messageCodec('GateMessage', HANDSHAKE_MESSAGE, { maxBytes: 8_192, maxDepth: 2, maxItems: 32 });

const MAX_FRAME_BYTES = 65_536;
/** Maximum length of the text of an error or goodbye, in UTF-8 bytes. */
const MAX_MESSAGE_BYTES = 8_192;
/** Wire type of a piece of a body. It leaves 64 bytes of the frame for the other fields. */
const PIECE = bytes({ max: MAX_FRAME_BYTES - 64 });
const ID = uint();

const FRAME = variants('type', {
  /** A request. If its body is longer than a frame, chunks with the same id come before it. `kind` is a number of REQUEST_KINDS. */
  request: [1, tuple({ id: required(0, ID), kind: required(1, uint({ max: 255 })), body: required(2, PIECE) })],
  accept: [2, tuple({ id: required(0, ID) })],
  result: [3, tuple({ id: required(0, ID), body: required(1, PIECE) })],
  /** `details` is JSON text of an object. */
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
  /** Allows the receiver of this frame to send `bytes` further bytes. */
  credit: [6, tuple({ id: required(0, ID), bytes: required(1, uint({ min: 1, max: 0xffff_ffff })) })],
  cancel: [7, tuple({ id: required(0, ID) })],
  /** The receiver responds with a pong of the same number. */
  ping: [8, tuple({ number: required(0, ID) })],
  pong: [9, tuple({ number: required(0, ID) })],
  goodbye: [10, tuple({ reason: required(0, text({ min: 0, max: MAX_MESSAGE_BYTES })) })],
  /** Piece of a body; the last piece is in a request or result. */
  chunk: [11, tuple({ id: required(0, ID), bytes: required(1, PIECE) })],
});

/** Frame on the control stream between two hubs. */
export type Frame = ValueOf<typeof FRAME>;

/** Codec of frames of at most 64 KiB. */
export const frameCodec = messageCodec('Frame', FRAME, { maxBytes: MAX_FRAME_BYTES, maxDepth: 1, maxItems: 8 });
