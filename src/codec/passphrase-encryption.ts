import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { AtmoError } from '../core/errors.ts';
import { bytes, message, messageCodec, required, uint } from './message-schema.ts';

const FORMAT = 1;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_CONTENT_BYTES = 4_096;
/** scrypt cost (RFC 7914). Each attempt, right or wrong, takes 32 MiB of memory and about 0.1 s. */
const COST = { logN: 15, r: 8, p: 1 } as const;
/** Maximum scrypt cost of a box that is opened. Without it, the author of a box could make the hub use much memory and time. */
const MAX_COST = { logN: 17, r: 8, p: 4 } as const;

const BOX = message({
  format: required(1, uint({ min: FORMAT, max: FORMAT })),
  logN: required(2, uint({ min: COST.logN, max: MAX_COST.logN })),
  r: required(3, uint({ min: COST.r, max: MAX_COST.r })),
  p: required(4, uint({ min: COST.p, max: MAX_COST.p })),
  salt: required(5, bytes({ min: SALT_BYTES, max: SALT_BYTES })),
  nonce: required(6, bytes({ min: NONCE_BYTES, max: NONCE_BYTES })),
  /** Ciphertext, followed by the tag of 16 bytes. */
  sealed: required(7, bytes({ min: TAG_BYTES, max: MAX_CONTENT_BYTES + TAG_BYTES })),
});
const CODEC = messageCodec('SealedBox', BOX, { maxBytes: 8_192, maxDepth: 1, maxItems: 15 });

/**
 * Encrypts at most 4 KiB with a passphrase. The cipher is AES-256-GCM (NIST SP 800-38D); scrypt (RFC 7914) derives its key from the
 * passphrase. Throws VALIDATION_ERROR if the content is longer or the passphrase is empty.
 */
export async function sealBox(content: Uint8Array, passphrase: string): Promise<Uint8Array> {
  if (passphrase === '') throw new AtmoError('VALIDATION_ERROR', 'The passphrase is empty; give one that nobody guesses');
  const [salt, nonce] = [Uint8Array.from(randomBytes(SALT_BYTES)), Uint8Array.from(randomBytes(NONCE_BYTES))];
  const key = await passphraseKey({ passphrase, salt, cost: COST }, KEY_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  const sealed = Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  return CODEC.encode({ format: FORMAT, ...COST, salt, nonce, sealed });
}

/**
 * Decrypts a box of `sealBox`. Throws PERMISSION_DENIED if the passphrase is wrong or the bytes were changed; the error does not tell
 * which. Throws VALIDATION_ERROR if the bytes are not a box.
 */
export async function openBox(box: Uint8Array, passphrase: string): Promise<Uint8Array> {
  const { salt, nonce, sealed, ...cost } = CODEC.decode(box);
  const key = await passphraseKey({ passphrase, salt, cost }, KEY_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const content = decipher.update(sealed.subarray(0, -TAG_BYTES));
  try {
    return Uint8Array.from(Buffer.concat([content, decipher.final()]));
  } catch {
    throw new AtmoError('PERMISSION_DENIED', 'The passphrase is not the one that it was sealed with, or the bytes were changed; try again');
  }
}

/** scrypt parameters (RFC 7914), which set the cost of one attempt to guess a passphrase. */
export interface ScryptCost {
  /** Base-2 logarithm of the parameter N. */
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

interface Derivation {
  readonly passphrase: string;
  readonly salt: Uint8Array;
  readonly cost: ScryptCost;
}

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt);

/** Derives a key of `byteCount` bytes from a passphrase with scrypt. If the cost comes from outside, the caller must limit it. */
export async function passphraseKey({ passphrase, salt, cost: { logN, r, p } }: Derivation, byteCount: number): Promise<Buffer> {
  const N = 2 ** logN;
  // Allows twice the memory that RFC 7914 needs, because the default limit of Node.js (32 MiB) is too low.
  const maxmem = 2 * 128 * N * r;
  // Systems encode the same letters by different bytes, so the passphrase is normalised (RFC 8265 §4.2.2).
  return derive(passphrase.normalize('NFC'), salt, byteCount, { N, r, p, maxmem });
}
