import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { AtmoError, systemCode } from '../errors.ts';

/** Writes bytes from an offset on, as many as the disk takes; answers how many those were (write(2), pwrite(2)). */
export type WriteBytes = (
  descriptor: number,
  bytes: Uint8Array,
  offset: number,
  length: number | undefined,
  position: number | null,
) => number;

interface WholeWrite {
  /** For the message. */
  readonly path: string;
  readonly descriptor: number;
  readonly bytes: Uint8Array;
  /** Where in the file; where the last write ended when absent. */
  readonly position?: number;
  /** That of the file system when absent. */
  readonly write?: WriteBytes;
}

/**
 * Writes all of the bytes: a disk that is nearly full takes a part of them without an error. STORAGE_FAILED when it takes no more;
 * throws what the file system says.
 */
export function writeAll({ path, descriptor, bytes, position, write = writeSync }: WholeWrite): void {
  for (let done = 0; done < bytes.length; ) {
    const taken = write(descriptor, bytes, done, undefined, position === undefined ? null : position + done);
    if (taken === 0) {
      throw new AtmoError('STORAGE_FAILED', `${path}: the disk takes no more bytes. Free space there`, { path, cause: 'full' });
    }
    done += taken;
  }
}

/** The text of a file; undefined when there is none. Throws what the file system says. */
export function readTextIfExists(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** The names of the JSON files in a folder, sorted; none when there is no folder. */
export function jsonFilesIn(folder: string): readonly string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.json')).sort();
}

/** The JSON of a file of the owner, or of its text. CONFIG_INVALID names a file that is not JSON. */
export function parseJsonFile(path: string, text?: string): unknown {
  try {
    return JSON.parse(text ?? readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown reason';
    throw new AtmoError('CONFIG_INVALID', `${path} cannot be read as JSON: ${reason}`);
  }
}

/** Puts `text` in place of a file, mode 0600, so that after a power cut either the old or the new text is there. */
export function replaceFile(path: string, text: string): void {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  const descriptor = openSync(partial, 'wx', 0o600);
  try {
    writeAll({ path: partial, descriptor, bytes: Buffer.from(text, 'utf8') });
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(partial, path);
  syncPath(dirname(path));
}

/**
 * Does what writes something that is written again later: what a full disk, one that is mounted read-only, or the bounds of a store do
 * not take now waits for it. `onFailure` is called with the reason.
 */
export function attemptWrite(work: () => void, onFailure: (problem: string) => void = () => undefined): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    onFailure(error.message);
  }
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

/** Moves what lies at `path` away, for people to look at, and answers where to; undefined when nothing does. */
export function setAside(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
  const base = `${path}.corrupt-${new Date().toISOString().replaceAll(':', '')}`;
  let aside = base;
  for (let n = 2; lstatSync(aside, { throwIfNoEntry: false }); n++) aside = `${base}-${n}`;
  renameSync(path, aside);
  return aside;
}

/** The same for a folder, or anything else that is no file, where a file belongs. */
export function setAsideUnlessFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && !found.isFile() ? setAside(path) : undefined;
}

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

/** Where a path leads once its symbolic links are followed; what is not there, or may not be looked at, is taken by its name. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** True for the folder itself and for what lies below it, by their names alone: both from / on, without `..`. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
