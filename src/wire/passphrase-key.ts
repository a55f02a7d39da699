import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';

/** What a guess of a passphrase costs (RFC 7914). */
export interface ScryptCost {
  /** Logarithm of N to the base of 2. */
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

/** What a key is made from. */
interface Derivation {
  readonly passphrase: string;
  readonly salt: Uint8Array;
  readonly cost: ScryptCost;
}

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt);

/** So many bytes from a passphrase, by scrypt. Whoever opens what another has sealed bounds the cost before. */
export async function passphraseKey({ passphrase, salt, cost: { logN, r, p } }: Derivation, byteCount: number): Promise<Buffer> {
  const N = 2 ** logN;
  // Twice what RFC 7914 needs; Node refuses more than 32 MiB otherwise.
  const maxmem = 2 * 128 * N * r;
  // The same letters typed on another system have other bytes before normalisation (RFC 8265 §4.2.2).
  return derive(passphrase.normalize('NFC'), salt, byteCount, { N, r, p, maxmem });
}
