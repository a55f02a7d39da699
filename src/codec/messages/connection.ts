import { writeByteStrings } from '../cbor.ts';
import {
  bytes,
  hex,
  type MessageCodec,
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
const PIECE_BYTES = MAX_FRAME_BYTES - 64;
const PIECE = bytes({ max: PIECE_BYTES });
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

const ANY_FRAME = messageCodec('Frame', FRAME, { maxBytes: MAX_FRAME_BYTES, maxDepth: 1, maxItems: 8 });

/**
 * Codec of frames of at most 64 KiB. Requests and results, of which each call has one, are written and read without the table of fields, in a
 * quarter of the time. What is not in their one form is left to the table, which says why it is refused.
 */
export const frameCodec: MessageCodec<Frame> = {
  encode: (frame) => (isPlain(frame) ? writePlain(frame) : ANY_FRAME.encode(frame)),
  decode: (bytes) => readPlain(bytes) ?? ANY_FRAME.decode(bytes),
};

const REQUEST = 1;
const RESULT = 3;
/** Heads of arrays of three and four items, and of byte strings whose length has one or two bytes (RFC 8949 §3). */
const [ARRAY_OF_3, ARRAY_OF_4, BYTES, BYTES_8, BYTES_16] = [0x83, 0x84, 0x40, 0x58, 0x59];

type PlainFrame = Extract<Frame, { readonly type: 'request' | 'result' }>;

function isPlain(frame: Frame): frame is PlainFrame {
  if (frame.type !== 'request' && frame.type !== 'result') return false;
  const isKind = frame.type === 'result' || (Number.isInteger(frame.kind) && frame.kind >= 0 && frame.kind < 256);
  return isKind && Number.isInteger(frame.id) && frame.id >= 0 && frame.id <= 0xffff_ffff && frame.body.length <= PIECE_BYTES;
}

function writePlain(frame: PlainFrame): Uint8Array {
  const { type, id, body } = frame;
  const head = type === 'result' ? [ARRAY_OF_3, RESULT, ...uintHead(id)] : [ARRAY_OF_4, REQUEST, ...uintHead(id), ...uintHead(frame.kind)];
  return writeByteStrings(Uint8Array.from(head), [body]);
}

/** Returns the encoding of an integer below 2^32. */
function uintHead(value: number): readonly number[] {
  if (value < 24) return [value];
  if (value < 0x100) return [24, value];
  if (value < 0x1_0000) return [25, value >> 8, value & 0xff];
  return [26, value >>> 24, (value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff];
}

/** Reads a request or result. Returns undefined for any other frame, and for bytes that are not the output of `writePlain`. */
function readPlain(bytes: Uint8Array): PlainFrame | undefined {
  const [array, type] = bytes;
  const isResult = array === ARRAY_OF_3 && type === RESULT;
  if (!isResult && !(array === ARRAY_OF_4 && type === REQUEST)) return undefined;
  const id = uintAt(bytes, 2);
  const kind = isResult || !id ? undefined : uintAt(bytes, id.end);
  const body = id && bodyAt(bytes, (kind ?? id).end);
  if (!body) return undefined;
  if (isResult) return { type: 'result', id: id.value, body };
  return kind && kind.value < 256 ? { type: 'request', id: id.value, kind: kind.value, body } : undefined;
}

/** Reads an integer below 2^32 in its shortest form. */
function uintAt(bytes: Uint8Array, at: number): { readonly value: number; readonly end: number } | undefined {
  const first = bytes[at] ?? 0xff;
  if (first < 24) return { value: first, end: at + 1 };
  const size = 2 ** (first - 24);
  const end = at + 1 + size;
  if (size > 4 || end > bytes.length) return undefined;
  let value = 0;
  for (let index = at + 1; index < end; index++) value = value * 256 + (bytes[index] ?? 0);
  return uintHead(value).length === size + 1 ? { value, end } : undefined;
}

/** Returns a copy of the byte string that begins at `at`, if it is in its shortest form and ends with the frame. */
function bodyAt(bytes: Uint8Array, at: number): Uint8Array | undefined {
  const first = bytes[at] ?? 0;
  const head = first === BYTES_8 ? 2 : first === BYTES_16 ? 3 : 1;
  const length = head === 1 ? first - BYTES : head === 2 ? (bytes[at + 1] ?? 0) : (bytes[at + 1] ?? 0) * 256 + (bytes[at + 2] ?? 0);
  const isShortest = head === 1 ? length >= 0 && length < 24 : head === 2 ? length >= 24 : length >= 0x100;
  return isShortest && length <= PIECE_BYTES && at + head + length === bytes.length ? new Uint8Array(bytes.subarray(at + head)) : undefined;
}
