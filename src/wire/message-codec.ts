import type { KeyObject } from 'node:crypto';
import { encodeCbor, viewCbor } from './cbor.ts';
import { CBOR_LIMITS, type CborLimits } from './cbor-scan.ts';
import { openSign1, signSign1 } from './cose-sign1.ts';
import { refuse, type WireType } from './message-type.ts';

/** Bytes of one kind of message and back; a message that was decoded shares no memory with its bytes. */
export interface MessageCodec<Value> {
  /** VALIDATION_ERROR names the message and the member that is out of bounds. */
  encode(value: Value): Uint8Array;
  /** Takes only what `encode` makes. VALIDATION_ERROR names the message and the member, or the byte that is no such CBOR. */
  decode(bytes: Uint8Array): Value;
}

/** The codec of a message called `name`; the limits of the look over the raw bytes are those of CBOR_LIMITS unless given. */
export function messageCodec<Value>(name: string, type: WireType<Value>, limits: Partial<CborLimits> = {}): MessageCodec<Value> {
  const place = { within: undefined, step: name };
  const { maxBytes } = { ...CBOR_LIMITS, ...limits };
  return {
    encode: (value) => {
      const bytes = encodeCbor(type.toCbor(value, place));
      if (bytes.length > maxBytes) refuse(place, `has ${bytes.length} bytes, more than the ${maxBytes} that are allowed`);
      return bytes;
    },
    // Each type takes what it keeps into memory of its own.
    decode: (bytes) => type.fromCbor(viewCbor(bytes, limits), place),
  };
}

/** Signed bytes of one kind of message and back. */
export interface SignedCodec<Value> {
  /** COSE_Sign1 (RFC 9052) over the message's encoding. VALIDATION_ERROR. */
  sign(value: Value, key: KeyObject): Uint8Array;
  /**
   * The message, once its signature has proven to be by the key that `keyOf` answers. `keyOf` sees a message that nobody vouches
   * for yet: it may refuse it by throwing before the cost of a verification. VALIDATION_ERROR.
   */
  open(bytes: Uint8Array, keyOf: (unverified: Value) => KeyObject | undefined): Value;
}

/** The same under a signature; `domain` keeps it from serving any other kind of message (`external_aad`). */
export function signedCodec<Value>(codec: MessageCodec<Value>, domain: string): SignedCodec<Value> {
  const externalAad = new TextEncoder().encode(domain);
  return {
    sign: (value, key) => signSign1({ payload: codec.encode(value), key, externalAad }),
    open: (bytes, keyOf) => openSign1(bytes, { read: codec.decode, keyOf, externalAad }),
  };
}
