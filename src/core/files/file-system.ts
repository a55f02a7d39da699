import {
  closeSync,
  existsSync,
  fchmodSync,
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

/** Writes bytes of the buffer from `offset` on, as many as the disk accepts. Returns their number (write(2), pwrite(2)). */
export type WriteBytes = (
  descriptor: number,
  bytes: Uint8Array,
  offset: number,
  length: number | undefined,
  position: number | null,
) => number;

interface WholeWrite {
  readonly path: string;
  readonly descriptor: number;
  readonly bytes: Uint8Array;
  /** Position in the file; default: where the last write ended. */
  readonly position?: number;
  /** Function that writes the bytes; default: `writeSync`. */
  readonly write?: WriteBytes | undefined;
}

/**
 * Writes all bytes. An almost full disk accepts only some of them without an error, so several steps may be needed. Throws STORAGE_FAILED
 * if the disk accepts no more bytes. Also throws the errors of the file system.
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

/** Returns the text of a file, or undefined if the file does not exist. Throws the errors of the file system. */
export function readTextIfExists(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** Returns the sorted names of the JSON files in a folder, or an empty list if the folder does not exist. */
export function jsonFilesIn(folder: string): readonly string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.json')).sort();
}

/** Parses a JSON file of the owner. `text` is its content if the caller has read it. Throws CONFIG_INVALID if it is not JSON. */
export function parseJsonFile(path: string, text?: string): unknown {
  try {
    return JSON.parse(text ?? readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown reason';
    throw new AtmoError('CONFIG_INVALID', `${path} cannot be read as JSON: ${reason}`);
  }
}

const PRIVATE_MODE = 0o600;

interface ReplaceOptions {
  /** Permissions of the new file, whatever the umask. */
  readonly mode?: number;
  readonly platform?: NodeJS.Platform;
}

/** Replaces the text of a file and sets its mode, by default 0600. After a power cut, the file has either the old or the new text and mode. */
export function replaceFile(path: string, text: string, { mode = PRIVATE_MODE, platform = process.platform }: ReplaceOptions = {}): void {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  const descriptor = openSync(partial, 'wx', PRIVATE_MODE);
  try {
    // The umask may have taken permissions away.
    if (mode !== PRIVATE_MODE) fchmodSync(descriptor, mode);
    writeAll({ path: partial, descriptor, bytes: Buffer.from(text, 'utf8') });
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(partial, path);
  // Windows has no function that syncs a folder.
  if (platform !== 'win32') syncPath(dirname(path));
}

/** Runs a write that may fail, for example on a full disk. If it fails, calls `onFailure` instead of throwing. */
export function attemptWrite(work: () => void, onFailure: (problem: string) => void = () => undefined): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    onFailure(error.message);
  }
}

/** Waits until the content of a file or folder is on the disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Renames the file or folder at `path`, so that people can examine it later. Returns the new path; undefined if nothing was there. */
export function setAside(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
  const base = `${path}.corrupt-${new Date().toISOString().replaceAll(':', '')}`;
  let aside = base;
  for (let n = 2; lstatSync(aside, { throwIfNoEntry: false }); n++) aside = `${base}-${n}`;
  renameSync(path, aside);
  return aside;
}

/** Renames what is at `path`, like `setAside`, but only if it is not a file. Returns undefined if nothing was renamed. */
export function setAsideUnlessFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && !found.isFile() ? setAside(path) : undefined;
}

/** Throws STORAGE_FAILED if other users can access one of the files. `ifOthersReadIt` is the advice at the end of the message. */
export function requirePrivateFiles(paths: readonly string[], ifOthersReadIt: string): void {
  for (const path of paths) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isFile() || (found.mode & 0o077) === 0) continue;
    const mode = (found.mode & 0o777).toString(8);
    const advice = `Run \`chmod 600 ${path}\`; if others were on this machine, ${ifOthersReadIt}`;
    throw new AtmoError('STORAGE_FAILED', `${path} can be read by other users (mode ${mode}). ${advice}`, { path });
  }
}

/**
 * Creates a folder and its parents with mode 0700 if they do not exist. Throws the errors of mkdir(2). Creates one folder at a time: a
 * recursive `mkdir` never ends on a file system such as /proc, which refuses a new folder with ENOENT.
 */
export function makePrivateFolder(folder: string): void {
  if (!existsSync(dirname(folder))) makePrivateFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another hub that starts at the same moment may have created the folder.
    if (systemCode(error) !== 'EEXIST' || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** Returns the absolute path with its symbolic links resolved. If the path does not exist or cannot be read, the links stay. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Returns whether a path is the folder itself or below it. Compares the texts, so both paths must be absolute and without `..`. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
