import { createPrivateKey, type KeyObject } from 'node:crypto';
import { statSync } from 'node:fs';
import { generatePrivateKey } from '../codec/public-key.ts';
import { AtmoError } from '../core/errors.ts';
import { readTextIfExists } from '../core/files/file-system.ts';
import { backupCopyPath, type OnRepaired, RecoverableFile } from '../core/files/recoverable-file.ts';

/** A file that only its user may read. */
export interface SecretFile {
  readonly path: string;
  /** Ends the message about a file that others can read, after the command that mends its mode. */
  readonly ifOthersReadIt: string;
  /** True for a text that is in itself what such a file holds. */
  readonly isWhole: (text: string) => boolean;
  readonly onRepaired: OnRepaired;
}

/**
 * The text of a file that only its user may read; undefined when there is none and never was. A damaged or lost one comes back from
 * its copy. STORAGE_FAILED when others can read it, or file and copy are lost.
 */
export function readSecretFile(file: SecretFile): string | undefined {
  requirePrivate(file);
  return storage(file.path, () => new RecoverableFile(file).read());
}

/** The same of a file that the owner keeps, of which the hub makes no copy. */
export function readOwnerSecret(file: Pick<SecretFile, 'path' | 'ifOthersReadIt'>): string | undefined {
  requirePrivate(file);
  return storage(file.path, () => readTextIfExists(file.path));
}

/** Writes the file with mode 0600, and its copy; a crash leaves the old text or the new one, never half of one. STORAGE_FAILED. */
export function writeSecretFile(file: SecretFile, text: string): void {
  storage(file.path, () => new RecoverableFile(file).write(text));
}

/** Removes the file and its copy. STORAGE_FAILED. */
export function removeSecretFile(file: SecretFile): void {
  storage(file.path, () => new RecoverableFile(file).remove());
}

/** How the owner is rid of a file for good: its copy would bring it back. */
export function deletionHint(path: string): string {
  return `delete it and its copy (rm ${path} ${backupCopyPath(path)})`;
}

function requirePrivate({ path, ifOthersReadIt }: Pick<SecretFile, 'path' | 'ifOthersReadIt'>): void {
  const found = storage(path, () => statSync(path, { throwIfNoEntry: false }));
  if (!found?.isFile() || (found.mode & 0o077) === 0) return;
  throw new AtmoError(
    'STORAGE_FAILED',
    `${path} can be read by other users (mode ${(found.mode & 0o777).toString(8)}). Run \`chmod 600 ${path}\`; if others were on this machine, ${ifOthersReadIt}`,
    { path },
  );
}

function storage<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof AtmoError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AtmoError(
      'STORAGE_FAILED',
      `${path} cannot be read or written: ${reason}. Free space, or give the state directory to the hub's user`,
      { path },
      { cause: error },
    );
  }
}

/** A file for one private key. */
export interface KeyFile {
  readonly path: string;
  /** The things that end with the key, for a person who has to decide: `every token that this hub issued`. */
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
    ifOthersReadIt: `${deletionHint(path)} instead: ${renewed}`,
    isWhole: (text) => parseKey(text) !== undefined,
    onRepaired,
  };
  const text = readSecretFile(file);
  if (text === undefined) return makeKey(file);
  const key = parseKey(text);
  if (key) return key;
  throw new AtmoError(
    'STORAGE_FAILED',
    `${path} does not hold a private Ed25519 key. Restore it from a backup; without one, ${deletionHint(path)}: ${renewed}`,
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
