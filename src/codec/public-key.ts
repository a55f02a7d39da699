import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Point } from '@noble/ed25519';
import { AtmoError } from '../core/errors.ts';
import type { HubId } from '../core/ids.ts';
import { sha256Hex } from './hashes.ts';

/** Ed25519 key pair with which this hub can sign. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  /** Raw public key: 32 bytes, base64url. */
  readonly publicKey: string;
}

const RAW_KEY = /^[A-Za-z0-9_-]{43}$/;
/** Maximum number of validated keys in the cache; the oldest key is removed first. */
const MAX_CACHED = 1024;
const cache = new Map<string, KeyObject>();

/**
 * Returns the public key for 32 raw bytes in base64url. Throws VALIDATION_ERROR if the bytes are not the canonical encoding (RFC 8032
 * §5.1.3) of a curve point. Also throws it if the point has small order, because one signature would then be valid for many messages. Valid
 * keys are cached, because the check takes as long as about three verifications.
 */
export function publicKeyOf(raw: string): KeyObject {
  const known = cache.get(raw);
  if (known) return known;
  requireSoundPoint(raw);
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw }, format: 'jwk' });
  const [oldest] = cache.keys();
  if (cache.size >= MAX_CACHED && oldest !== undefined) cache.delete(oldest);
  cache.set(raw, key);
  return key;
}

/** Returns the raw public key of an Ed25519 key: 32 bytes, base64url. Throws VALIDATION_ERROR if the key is not an Ed25519 key. */
export function rawPublicKey(key: KeyObject): string {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new AtmoError('VALIDATION_ERROR', `The key is not an Ed25519 key but ${key.asymmetricKeyType}`);
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  if (x === undefined) throw new AtmoError('VALIDATION_ERROR', 'The key has no public part');
  return x;
}

/** Returns a new private Ed25519 key from the system's random source. */
export function generatePrivateKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}

function requireSoundPoint(raw: string): void {
  const bytes = Buffer.from(raw, 'base64url');
  // The last of the 43 characters has two unused bits. They must be zero; otherwise each key would have four texts.
  if (!RAW_KEY.test(raw) || bytes.toString('base64url') !== raw) refuse('is not 32 bytes in base64url without padding');
  if (pointOf(bytes).isSmallOrder()) refuse('is a point of small order, for which anybody can make signatures');
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

/** Returns the id of a hub: `hub-` and the first 16 hex digits of the SHA-256 of its raw Ed25519 key (32 bytes, base64url). */
export function hubIdOf(publicKey: string): HubId {
  return `hub-${idOf(publicKey)}` as HubId;
}

/** Returns the id of a mesh: `mesh-` and the first 16 hex digits of the SHA-256 of its raw root key. */
export function meshIdOf(rootKey: string): string {
  return `mesh-${idOf(rootKey)}`;
}

function idOf(publicKey: string): string {
  return sha256Hex(Buffer.from(publicKey, 'base64url')).slice(0, 16);
}
