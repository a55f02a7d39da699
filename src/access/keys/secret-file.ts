import { readFileSync, statSync } from 'node:fs';
import { AtmoError } from '../../core/errors.ts';
import { replaceFile } from '../../core/storage/durable-file.ts';

/**
 * The text of a file that only its user may read; undefined when there is none. STORAGE_FAILED when others can read it:
 * `ifOthersReadIt` ends the message, after the command that mends the file's mode.
 */
export function readSecretFile(path: string, { ifOthersReadIt }: { readonly ifOthersReadIt: string }): string | undefined {
  const mode = storage(path, () => statSync(path, { throwIfNoEntry: false })?.mode);
  if (mode === undefined) return undefined;
  if ((mode & 0o077) === 0) return storage(path, () => readFileSync(path, 'utf8'));
  throw new AtmoError(
    'STORAGE_FAILED',
    `${path} can be read by other users (mode ${(mode & 0o777).toString(8)}). Run \`chmod 600 ${path}\`; if others were on this machine, ${ifOthersReadIt}`,
    { path },
  );
}

/** Writes the file with mode 0600; a crash leaves the old text or the new one, never half of one. STORAGE_FAILED. */
export function writeSecretFile(path: string, text: string): void {
  storage(path, () => replaceFile(path, text));
}

function storage<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AtmoError(
      'STORAGE_FAILED',
      `${path} cannot be read or written: ${reason}. Free space, or give the state directory to the hub's user`,
      { path },
      { cause: error },
    );
  }
}
