import { createPublicKey, type KeyObject } from 'node:crypto';
import { Point } from '@noble/ed25519';
import { AtmoError } from '../../core/errors.ts';

const RAW_KEY_BYTES = 32;

/**
 * The public key of 32 raw bytes in base64url. VALIDATION_ERROR unless they are the one encoding (RFC 8032 §5.1.3) of a point
 * whose order is not small: whoever had such a key could be impersonated by anybody.
 */
export function soundKeyOf(raw: string): KeyObject {
  const bytes = Buffer.from(raw, 'base64url');
  if (bytes.length !== RAW_KEY_BYTES || bytes.toString('base64url') !== raw) refuse('is not 32 bytes in base64url without padding');
  if (pointOf(bytes).isSmallOrder()) refuse('is a point of small order, for which anybody can make signatures');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw }, format: 'jwk' });
}

/** The 32 raw bytes of an Ed25519 key's public half, base64url. VALIDATION_ERROR for a key of another kind. */
export function rawKeyOf(key: KeyObject): string {
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  if (x !== undefined && key.asymmetricKeyType === 'ed25519') return x;
  throw new AtmoError('VALIDATION_ERROR', `The key is not an Ed25519 key but ${key.asymmetricKeyType}`);
}

function pointOf(bytes: Uint8Array): Point {
  try {
    return Point.fromBytes(bytes);
  } catch (cause) {
    throw new AtmoError('VALIDATION_ERROR', 'The public key is not the canonical encoding of a point of Ed25519', {}, { cause });
  }
}

function refuse(problem: string): never {
  throw new AtmoError('VALIDATION_ERROR', `The public key ${problem}`);
}
