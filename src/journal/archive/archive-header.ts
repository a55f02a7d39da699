import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import { passphraseKey, type ScryptCost } from '../../wire/passphrase-key.ts';

const MAGIC = Buffer.from('atmosphere-edge backup\n', 'latin1');
/** Of the whole file; docs/backup.md tells it. */
const FORMAT = 1;
const SALT_BYTES = 16;
const MAC_BYTES = 32;
const KEY_BYTES = 32;
/** RFC 7914: 64 MiB and some tenths of a second for each guess of a passphrase. */
const COST: ScryptCost = { logN: 16, r: 8, p: 1 };
/** Of a file that is opened: its maker must not choose how much memory and time that takes. */
const MAX_COST: ScryptCost = { logN: 18, r: 8, p: 4 };
const COST_AT = MAGIC.length + 1;
const SALT_AT = COST_AT + 3;
const MAC_AT = SALT_AT + SALT_BYTES;
/** A header has this many bytes. */
export const HEADER_BYTES = MAC_AT + MAC_BYTES;

/** The first bytes of an archive and the key of what follows (AES-256). */
export interface OpenHeader {
  readonly bytes: Buffer;
  readonly key: Buffer;
}

/** 64 bytes from a passphrase: the key of the content, then that of the HMAC. Tests have one that is fast. */
export type Derive = (passphrase: string, salt: Uint8Array, cost: ScryptCost) => Promise<Buffer>;

/** scrypt (RFC 7914). */
export const byScrypt: Derive = (passphrase, salt, cost) => passphraseKey({ passphrase, salt, cost }, 2 * KEY_BYTES);

/**
 * The header of a new archive: `atmosphere-edge backup` and a line feed, the format (1 byte), log2 of scrypt's N, r and p (1 byte
 * each), a random salt (16 bytes), HMAC-SHA-256 over all before it (32 bytes). scrypt makes 64 bytes: the key of the content,
 * then that of the HMAC.
 */
export async function newHeader(passphrase: string, derive = byScrypt): Promise<OpenHeader> {
  const cost = Buffer.of(COST.logN, COST.r, COST.p);
  const head = Buffer.concat([MAGIC, Buffer.of(FORMAT), cost, randomBytes(SALT_BYTES)]);
  const { key, macKey } = await keysOf(head, passphrase, derive);
  return { bytes: Buffer.concat([head, macOf(head, macKey)]), key };
}

/** VALIDATION_ERROR for what is no archive, NOT_SUPPORTED for a newer one, PERMISSION_DENIED for another passphrase. */
export async function openHeader(bytes: Buffer, passphrase: string, derive = byScrypt): Promise<OpenHeader> {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      'This is no backup of a hub, or its beginning is damaged; give the file that "atmo backup" wrote',
    );
  }
  requireKnownFormat(bytes);
  const { key, macKey } = await keysOf(bytes, passphrase, derive);
  if (timingSafeEqual(macOf(bytes.subarray(0, MAC_AT), macKey), bytes.subarray(MAC_AT, HEADER_BYTES))) return { bytes, key };
  throw new AtmoError('PERMISSION_DENIED', 'The passphrase is not the one of this backup, or its beginning is damaged; try again');
}

function requireKnownFormat(bytes: Buffer): void {
  const format = bytes.readUInt8(MAGIC.length);
  if (format > FORMAT) {
    throw new AtmoError(
      'NOT_SUPPORTED',
      `The backup was made by a newer atmosphere-edge (format ${format}, this one knows ${FORMAT}). Install that version first`,
    );
  }
  const { logN, r, p } = costOf(bytes);
  const isBounded = format === FORMAT && logN >= COST.logN && logN <= MAX_COST.logN && r === COST.r && p >= 1 && p <= MAX_COST.p;
  if (!isBounded) throw new AtmoError('VALIDATION_ERROR', 'The beginning of the backup is damaged; take another copy of it');
}

function costOf(bytes: Buffer): ScryptCost {
  return { logN: bytes.readUInt8(COST_AT), r: bytes.readUInt8(COST_AT + 1), p: bytes.readUInt8(COST_AT + 2) };
}

async function keysOf(head: Buffer, passphrase: string, derive: Derive): Promise<{ readonly key: Buffer; readonly macKey: Buffer }> {
  const secret = await derive(passphrase, head.subarray(SALT_AT, MAC_AT), costOf(head));
  return { key: secret.subarray(0, KEY_BYTES), macKey: secret.subarray(KEY_BYTES) };
}

function macOf(head: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(head.subarray(0, MAC_AT)).digest();
}
