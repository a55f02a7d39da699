import { hash } from 'node:crypto';
import { blake3 } from '@noble/hashes/blake3.js';

/** Returns the SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 bytes of a text, as 64 lower-case hex digits. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
}

/** The BLAKE3 hashes of the last short texts, by their SHA-256. Devices and tools give the same few answers over and over. */
const recent = new Map<string, string>();
const MAX_RECENT = 64;
const MAX_RECENT_LENGTH = 4_096;

/** Returns the 256-bit BLAKE3 hash of the text's UTF-8 bytes as 64 lower-case hex digits. */
export function blake3Hex(text: string): string {
  if (text.length > MAX_RECENT_LENGTH) return computedBlake3(text);
  // Node computes SHA-256 natively, and the text itself, which may be secret, is not kept.
  const key = sha256Hex(text);
  const known = recent.get(key);
  if (known !== undefined) return known;
  const computed = computedBlake3(text);
  if (recent.size >= MAX_RECENT) for (const oldest of recent.keys().take(1)) recent.delete(oldest);
  recent.set(key, computed);
  return computed;
}

function computedBlake3(text: string): string {
  return Buffer.from(blake3(Buffer.from(text, 'utf8'))).toString('hex');
}
