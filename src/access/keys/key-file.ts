import { createPrivateKey, type KeyObject } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import type { OnRepaired } from '../../core/storage/kept-file.ts';
import { generatePrivateKey } from '../../wire/ed25519-key.ts';
import { deletionOf, readSecretFile, type SecretFile, writeSecretFile } from './secret-file.ts';

/** A file for one private key. */
export interface KeyFile {
  readonly path: string;
  /** What ends when the key does, for a person who has to decide: `every token that this hub issued`. */
  readonly endsWithIt: string;
  readonly onRepaired: OnRepaired;
}

/**
 * The private Ed25519 key of a file (PKCS #8 in PEM, RFC 8410, mode 0600); makes the key and the file when there is none.
 * STORAGE_FAILED with what to do when others can read the file or it holds something else; it is never replaced then.
 */
export function openKeyFile({ path, endsWithIt, onRepaired }: KeyFile): KeyObject {
  const renewed = `the next start makes a new key, and ${endsWithIt} ends with the old one`;
  const file: SecretFile = {
    path,
    ifOthersReadIt: `${deletionOf(path)} instead: ${renewed}`,
    isWhole: (text) => parseKey(text) !== undefined,
    onRepaired,
  };
  const text = readSecretFile(file);
  if (text === undefined) return makeKey(file);
  const key = parseKey(text);
  if (key) return key;
  throw new AtmoError(
    'STORAGE_FAILED',
    `${path} does not hold a private Ed25519 key. Restore it from a backup; without one, ${deletionOf(path)}: ${renewed}`,
    { path },
  );
}

function makeKey(file: SecretFile): KeyObject {
  const key = generatePrivateKey();
  writeSecretFile(file, String(key.export({ type: 'pkcs8', format: 'pem' })));
  return key;
}

/** Undefined for what is no such key; the reason is left out, since it could quote the text. */
function parseKey(text: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(text);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
