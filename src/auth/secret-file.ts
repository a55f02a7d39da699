import { createPrivateKey, type KeyObject } from 'node:crypto';
import { generatePrivateKey } from '../codec/public-key.ts';
import { AtmoError } from '../core/errors.ts';
import { readTextIfExists, requirePrivateFiles } from '../core/files/file-system.ts';
import { backupCopyPath, type OnRepaired, RecoverableFile } from '../core/files/recoverable-file.ts';

/** A file that only the user of the hub's process may read. */
export interface SecretFile {
  readonly path: string;
  /** What the owner should do if other users may have read the file. This advice is the end of an error message. */
  readonly ifOthersReadIt: string;
  /** Returns whether the text is complete, valid content of the file. */
  readonly isWhole: (text: string) => boolean;
  readonly onRepaired: OnRepaired;
}

/**
 * Returns the text of a secret file; undefined if there is neither the file nor its backup copy. Restores a damaged or lost file from the
 * copy. Throws STORAGE_FAILED if others can read the file or the copy, or if the copy is damaged and the file is unusable.
 */
export function readSecretFile(file: SecretFile): string | undefined {
  const { path, ifOthersReadIt } = file;
  return storage(path, () => {
    requirePrivateFiles([path, backupCopyPath(path)], ifOthersReadIt);
    return new RecoverableFile(file).read();
  });
}

/** Reads a secret file that has no backup copy. Returns undefined if the file is absent. Throws STORAGE_FAILED if others can read it. */
export function readOwnerSecret({ path, ifOthersReadIt }: Pick<SecretFile, 'path' | 'ifOthersReadIt'>): string | undefined {
  return storage(path, () => {
    requirePrivateFiles([path], ifOthersReadIt);
    return readTextIfExists(path);
  });
}

/** Writes the file and its copy (mode 0600). After a crash, each has the old or the new text. Throws STORAGE_FAILED if a write fails. */
export function writeSecretFile(file: SecretFile, text: string): void {
  storage(file.path, () => new RecoverableFile(file).write(text));
}

/** Removes the file and its backup copy. Throws STORAGE_FAILED if the removal fails. */
export function removeSecretFile(file: SecretFile): void {
  storage(file.path, () => new RecoverableFile(file).remove());
}

/** Returns the advice to delete a file together with its backup copy. Otherwise, the copy would restore the file. */
export function deletionHint(path: string): string {
  return `delete it and its copy (rm ${path} ${backupCopyPath(path)})`;
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

/** A file with one private key. */
export interface KeyFile {
  readonly path: string;
  /** Text for error messages: what becomes invalid if the key is lost, such as `every token that this hub issued`. */
  readonly endsWithIt: string;
  readonly onRepaired: OnRepaired;
}

/**
 * Returns the private Ed25519 key in a file (PKCS #8 in PEM, RFC 8410, mode 0600). If there is no file, creates it with a new key. Never
 * replaces an existing key. Throws STORAGE_FAILED if others can read the file, or if it is malformed or inaccessible.
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

/** Parses a private Ed25519 key; returns undefined for other text. The parser's error is dropped because it could quote the text. */
function parseKey(text: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(text);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
