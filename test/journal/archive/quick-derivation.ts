import { createHash } from 'node:crypto';
import type { Derive } from '../../../src/journal/archive/archive-header.ts';

/** As cheap as a passphrase must not be. */
export const quickly: Derive = async (passphrase, salt, cost) =>
  createHash('sha512')
    .update(`${passphrase}/${JSON.stringify(cost)}/`)
    .update(salt)
    .digest();
