import { hash } from 'node:crypto';
import { blake3 } from '@noble/hashes/blake3.js';

/** SHA-256 (FIPS 180-4) of the bytes, of a text its UTF-8 bytes: 64 lower-case hex digits. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
}

/** BLAKE3 of the text's UTF-8 bytes, 256 bits as 64 lower-case hex digits. */
export function blake3Hex(text: string): string {
  return Buffer.from(blake3(Buffer.from(text, 'utf8'))).toString('hex');
}
