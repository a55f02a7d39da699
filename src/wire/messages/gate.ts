import { message, optional, required } from '../message.ts';
import { messageCodec } from '../message-codec.ts';
import { hex, meshId } from '../message-encodings.ts';
import { kinds } from '../message-kinds.ts';
import { bytes, text, uint } from '../message-scalars.ts';
import type { ValueOf } from '../message-type.ts';
import { CERTIFICATE_CHAIN } from './certificate.ts';
import { MAX_STATEMENT_BYTES } from './member-revocation.ts';

const VERSION = uint({ max: 255 });

const GATE_MESSAGE = kinds('kind', {
  /** A member shows its certificate; the answer is the other one's. */
  hello: [1, message({ version: required(1, VERSION), meshId: required(2, meshId), certificate: required(3, CERTIFICATE_CHAIN) })],
  /** Somebody with an invite asks to become a member. */
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
  /** `code` is one of the table of errors. */
  refusal: [
    4,
    message({
      code: required(1, text({ max: 64, pattern: /^[A-Z][A-Z_]*$/ })),
      message: required(2, text({ min: 0, max: 1_024 })),
      /** For a hub that was revoked: the statement that says so, which nobody else would give it. */
      revocation: optional(3, bytes({ min: 1, max: MAX_STATEMENT_BYTES })),
    }),
  ],
});

/** What two hubs say to each other right after the transport's handshake. */
export type GateMessage = ValueOf<typeof GATE_MESSAGE>;

const CODEC = messageCodec('GateMessage', GATE_MESSAGE, { maxBytes: 8_192, maxDepth: 2, maxItems: 32 });

/** At most 8 KiB. VALIDATION_ERROR. */
export function encodeGateMessage(value: GateMessage): Uint8Array {
  return CODEC.encode(value);
}

/** VALIDATION_ERROR says what is wrong with the bytes and where. */
export function decodeGateMessage(encoded: Uint8Array): GateMessage {
  return CODEC.decode(encoded);
}
