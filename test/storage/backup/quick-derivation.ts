import { createHash } from 'node:crypto';
import type { Derive } from '../../../src/storage/backup/archive-encryption.ts';

/** As cheap as a passphrase must not be. */
export const quickly: Derive = async (passphrase, salt, cost) =>
  createHash('sha512')
    .update(`${passphrase}/${JSON.stringify(cost)}/`)
    .update(salt)
    .digest();
