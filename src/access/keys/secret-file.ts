import { statSync } from 'node:fs';
import { AtmoError } from '../../core/errors.ts';
import { textIfThere } from '../../core/storage/durable-file.ts';
import { KeptFile, keptCopyOf, type OnRepaired } from '../../core/storage/kept-file.ts';

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
  return storage(file.path, () => new KeptFile(file).read());
}

/** The same of a file that the owner keeps, of which the hub makes no copy. */
export function readOwnersSecret(file: Pick<SecretFile, 'path' | 'ifOthersReadIt'>): string | undefined {
  requirePrivate(file);
  return storage(file.path, () => textIfThere(file.path));
}

/** Writes the file with mode 0600, and its copy; a crash leaves the old text or the new one, never half of one. STORAGE_FAILED. */
export function writeSecretFile(file: SecretFile, text: string): void {
  storage(file.path, () => new KeptFile(file).write(text));
}

/** Removes the file and its copy. STORAGE_FAILED. */
export function removeSecretFile(file: SecretFile): void {
  storage(file.path, () => new KeptFile(file).remove());
}

/** How the owner is rid of a file for good: its copy would bring it back. */
export function deletionOf(path: string): string {
  return `delete it and its copy (rm ${path} ${keptCopyOf(path)})`;
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
