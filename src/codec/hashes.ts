import { hash } from 'node:crypto';
import { blake3 } from '@noble/hashes/blake3.js';
import { oncePerText } from '../core/lifecycle.ts';

/** Returns the SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 bytes of a text, as 64 lower-case hex digits. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
}

/**
 * Returns the 256-bit BLAKE3 hash of the text's UTF-8 bytes as 64 lower-case hex digits. Devices and tools give the same few short answers over and over,
 * so their hashes are cached by their SHA-256, which Node computes natively; the texts, which may be secret, are not kept.
 */
export const blake3Hex = oncePerText((text) => Buffer.from(blake3(Buffer.from(text, 'utf8'))).toString('hex'), {
  maxKept: 128,
  maxLength: 4_096,
  keyOf: sha256Hex,
});
