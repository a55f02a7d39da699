import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Puts `text` in place of a file, mode 0600, so that after a power cut either the old or the new text is there. */
export function replaceFile(path: string, text: string): void {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  writeFileSync(partial, text, { mode: 0o600, flag: 'wx', flush: true });
  renameSync(partial, path);
  syncPath(dirname(path));
}

/** Waits until a file or folder is on the disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
