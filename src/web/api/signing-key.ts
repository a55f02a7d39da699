/** An approver's key in the browser. It can sign, but nobody can export it, not even this page. */
export interface SigningKey {
  readonly privateKey: (typeof CryptoKey)['prototype'];
  /** Public key: 32 bytes in base64url. */
  readonly publicKey: string;
}

/** The bytes that come before the seed in an Ed25519 key in PKCS #8 format (RFC 8410 §7). */
const PKCS8_PREFIX = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

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

/** Returns the Ed25519 signature of a message: 64 bytes (RFC 8032). */
export async function signWith({ privateKey }: SigningKey, message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, message));
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
