import { hash } from 'node:crypto';
import { blake3 } from '@noble/hashes/blake3.js';

/** Returns the SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 bytes of a text, as 64 lower-case hex digits. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
}

/** Returns the 256-bit BLAKE3 hash of the text's UTF-8 bytes as 64 lower-case hex digits. */
export function blake3Hex(text: string): string {
  return Buffer.from(blake3(Buffer.from(text, 'utf8'))).toString('hex');
}
