import { hash, type KeyObject, sign, verify } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { viewCbor, writeByteStrings } from './cbor.ts';

interface Sign1Request {
  readonly payload: Uint8Array;
  /** Private Ed25519 key. */
  readonly key: KeyObject;
  /** Bytes that the signature covers but the message does not contain. Signer and verifier must use the same bytes. */
  readonly externalAad: Uint8Array;
}

interface Sign1Opening<Value> {
  /** Parses the payload, which is a view of the message and not yet verified. */
  readonly read: (payload: Uint8Array) => Value;
  /** Returns the public Ed25519 key that must have signed the value; the value is not yet verified. */
  readonly keyOf: (unverified: Value) => KeyObject | undefined;
  readonly externalAad: Uint8Array;
}

/** Protected header of all messages: {1: -8}, algorithm EdDSA (RFC 9052 §3.1, RFC 9053 §2.2). */
const PROTECTED = Uint8Array.of(0xa1, 0x01, 0x27);
const SIGNATURE_BYTES = 64;
/** First bytes of every message: the head of an array of four, the protected header, an empty unprotected header. */
const SIGN1 = Uint8Array.of(0x84, 0x43, ...PROTECTED, 0xa0);
/** First bytes of every Sig_structure: the head of an array of four, and the context string. */
const SIGNATURE1 = Uint8Array.of(0x84, 0x6a, ...new TextEncoder().encode('Signature1'));

/**
 * Signs a payload and returns an untagged COSE_Sign1 message (RFC 9052 §4.2) that contains the payload. The algorithm is EdDSA with
 * Ed25519; the unprotected header is empty. Throws VALIDATION_ERROR if the key is not a private Ed25519 key.
 */
export function signSign1({ payload, key, externalAad }: Sign1Request): Uint8Array {
  if (key.type !== 'private' || key.asymmetricKeyType !== 'ed25519') refuse('the key is not a private Ed25519 key');
  const signature = sign(null, sigStructure(PROTECTED, externalAad, payload), key);
  return writeByteStrings(SIGN1, [payload, signature]);
}

/**
 * Verifies a message of `signSign1` and returns its payload. Throws VALIDATION_ERROR with the reason if the signature is wrong, if the
 * message has another form (algorithm, header, tag or length), or if `keyOf` returns no public Ed25519 key.
 */
export function verifySign1(message: Uint8Array, check: Omit<Sign1Opening<Uint8Array>, 'read'>): Uint8Array {
  return openSign1(message, { ...check, read: (payload) => new Uint8Array(payload) });
}

/** Verifies a message like `verifySign1` and returns the result of `read`. Calls `read` and `keyOf` before the costly verification. */
export function openSign1<Value>(message: Uint8Array, { read, keyOf, externalAad }: Sign1Opening<Value>): Value {
  const { payload, signature } = partsOf(message);
  const value = read(payload);
  const key = keyOf(value);
  if (!key) return refuse('no key is known for its payload');
  if (key.type !== 'public' || key.asymmetricKeyType !== 'ed25519') refuse('the key is not a public Ed25519 key');
  if (!verify(null, sigStructure(PROTECTED, externalAad, payload), key, signature)) refuse('the signature does not fit');
  return value;
}

/** Returns the payload as a view of the message; does not verify the signature. Throws VALIDATION_ERROR if the form is wrong. */
export function unverifiedPayload(message: Uint8Array): Uint8Array {
  return partsOf(message).payload;
}

/** Returns the `externalAad` for the next link of a certificate chain: a hash of `link`, so the next link is valid only after `link`. */
export function aadAfter(link: Uint8Array): Uint8Array {
  return hash('sha256', link, 'buffer');
}

/** Returns the bytes to sign: the Sig_structure of RFC 9052 §4.4 with the context `Signature1`. */
export function sigStructure(protectedHeader: Uint8Array, externalAad: Uint8Array, payload: Uint8Array): Uint8Array {
  return writeByteStrings(SIGNATURE1, [protectedHeader, externalAad, payload]);
}

function partsOf(message: Uint8Array): { readonly payload: Uint8Array; readonly signature: Uint8Array } {
  const parts = viewCbor(message);
  if (!Array.isArray(parts) || parts.length !== 4) return refuse('it is not an array of four');
  const [header, unprotected, payload, signature]: readonly unknown[] = parts;
  if (!(header instanceof Uint8Array) || Buffer.compare(header, PROTECTED) !== 0) {
    return refuse('its protected header is not {1: -8}, EdDSA');
  }
  if (!(unprotected instanceof Map) || unprotected.size > 0) return refuse('its unprotected header is not an empty map');
  if (!(payload instanceof Uint8Array)) return refuse('its payload is not a byte string');
  if (!(signature instanceof Uint8Array) || signature.length !== SIGNATURE_BYTES) {
    return refuse(`its signature is not a byte string of ${SIGNATURE_BYTES} bytes`);
  }
  return { payload, signature };
}

function refuse(reason: string): never {
  throw new AtmoError('VALIDATION_ERROR', `COSE_Sign1 message refused: ${reason}`, { reason });
}
