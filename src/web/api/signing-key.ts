import { AtmoError } from '../../core/errors.ts';
import { text } from '../texts/text.ts';

/** A person's key in the browser. It can sign, but nobody can export it, not even this page. */
export interface SigningKey {
  readonly privateKey: (typeof CryptoKey)['prototype'];
  /** Raw public key in base64url: Ed25519 (32 bytes) or P-256 (65 bytes, uncompressed). */
  readonly publicKey: string;
}

/** The bytes that come before the seed in an Ed25519 key in PKCS #8 format (RFC 8410 §7). */
const PKCS8_PREFIX = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
const P256 = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const ES256 = { name: 'ECDSA', hash: 'SHA-256' } as const;

/** Makes a key: Ed25519 if the browser has it, else ECDSA with P-256. */
export async function makeSigningKey(): Promise<SigningKey> {
  const { subtle } = crypto;
  // An older browser rejects the name of the algorithm.
  const pair = await subtle
    .generateKey('Ed25519', false, ['sign', 'verify'])
    .catch(() => subtle.generateKey(P256, false, ['sign', 'verify']));
  if (!('privateKey' in pair)) throw new AtmoError('NOT_SUPPORTED', text('people.no_key_made'));
  const raw = await subtle.exportKey('raw', pair.publicKey);
  return { privateKey: pair.privateKey, publicKey: base64UrlOf(new Uint8Array(raw)) };
}

/** Returns the key for a seed (32 bytes, base64url). Returns undefined if the browser does not support Ed25519. */
export async function signingKeyOf(seed: string): Promise<SigningKey | undefined> {
  const der = Uint8Array.of(...PKCS8_PREFIX, ...bytesOfBase64Url(seed));
  try {
    const { subtle } = crypto;
    const { x } = await subtle.exportKey('jwk', await subtle.importKey('pkcs8', der, 'Ed25519', true, ['sign']));
    const privateKey = await subtle.importKey('pkcs8', der, 'Ed25519', false, ['sign']);
    return x === undefined ? undefined : { privateKey, publicKey: x };
  } catch {
    return undefined;
  }
}

/** Returns whether a value is a SigningKey. This also works for a key that was loaded from IndexedDB. */
export function isSigningKey(value: unknown): value is SigningKey {
  return (
    typeof value === 'object' && value !== null && 'privateKey' in value && value.privateKey instanceof CryptoKey && 'publicKey' in value
  );
}

/** Returns the id of a raw public key (base64url), which people compare: the first 16 hex digits of its SHA-256. */
export async function keyIdOf(publicKey: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOfBase64Url(publicKey)));
  return Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns whether the key makes ES256 signatures (ECDSA with P-256 and SHA-256). Otherwise it makes Ed25519 signatures. */
export function isEs256({ privateKey }: SigningKey): boolean {
  return privateKey.algorithm.name === P256.name;
}

/** Returns the signature of a message, 64 bytes: Ed25519 (RFC 8032), or ES256 as r and s. */
export async function signWith(key: SigningKey, message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign(isEs256(key) ? ES256 : 'Ed25519', key.privateKey, message));
}

/** Decodes base64url without padding. Returns an empty array if the text is invalid. */
export function bytesOfBase64Url(text: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/** Encodes bytes as base64url without padding. */
export function base64UrlOf(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
