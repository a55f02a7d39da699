import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { publicKeyOf } from './public-key.ts';

/** The kinds of keys with which persons sign: Ed25519 (RFC 8032), or ECDSA with P-256 and SHA-256 (ES256, RFC 7518 §3.4). */
export type PersonKeyKind = 'ed25519' | 'es256';

const P256_BYTES = 65;
const COORDINATE_BYTES = 32;
const UNCOMPRESSED = 4;
const SIGNATURE = /^[A-Za-z0-9_-]{86}$/;

/** A public key of a person. */
export interface PersonKey {
  readonly kind: PersonKeyKind;
  readonly key: KeyObject;
}

/**
 * Returns the public key for its raw bytes in base64url: 32 bytes are Ed25519, 65 bytes an uncompressed point of P-256 (SEC 1 §2.3.3).
 * Throws VALIDATION_ERROR for anything else, and for points that are not on their curve.
 */
export function personKeyOf(raw: string): PersonKey {
  const bytes = Buffer.from(raw, 'base64url');
  if (bytes.length !== P256_BYTES) return { kind: 'ed25519', key: publicKeyOf(raw) };
  if (bytes[0] !== UNCOMPRESSED || bytes.toString('base64url') !== raw) refuse();
  const part = (start: number) => bytes.subarray(start, start + COORDINATE_BYTES).toString('base64url');
  try {
    const jwk = { kty: 'EC', crv: 'P-256', x: part(1), y: part(1 + COORDINATE_BYTES) };
    return { kind: 'es256', key: createPublicKey({ key: jwk, format: 'jwk' }) };
  } catch {
    return refuse();
  }
}

/** Returns the id of a person's key: the first 16 hex digits of the SHA-256 of its raw bytes. People compare it as a fingerprint. */
export function personKeyId(raw: string): string {
  return createHash('sha256').update(Buffer.from(raw, 'base64url')).digest('hex').slice(0, 16);
}

/** Returns whether `signature` (64 bytes in base64url) is the key's signature over the message. */
export function isSignedBy({ kind, key }: PersonKey, message: Uint8Array, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url');
  if (!SIGNATURE.test(signature) || bytes.toString('base64url') !== signature) return false;
  return kind === 'ed25519' ? verify(null, message, key, bytes) : isSignedByEs256(key, message, bytes);
}

/** Returns whether `signature` (r and s, 64 bytes) is the signature of a P-256 key over the message, with ES256. */
export function isSignedByEs256(key: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  return verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

function refuse(): never {
  throw new AtmoError('VALIDATION_ERROR', 'The public key is neither an Ed25519 key of 32 bytes nor an uncompressed P-256 key of 65 bytes');
}
