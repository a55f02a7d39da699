import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../process/system-code.ts';

/**
 * Makes a folder with mode 0700, and those above it, unless it is there. Throws what mkdir(2) says. One folder at a time: with
 * `recursive` Node tries for ever where a file system makes no folder and says ENOENT, as /proc does.
 */
export function makePrivateFolder(folder: string): void {
  if (!existsSync(dirname(folder))) makePrivateFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another hub that starts at the same moment may have made it.
    if (systemCode(error) !== 'EEXIST' || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
