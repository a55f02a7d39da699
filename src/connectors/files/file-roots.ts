import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, readdir, realpath, rename, unlink } from 'node:fs/promises';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import { isWithin } from '../../core/files/file-system.ts';
import { ALL_ROOTS, encodedName, type FilePath, parsePath } from './file-path.ts';
import type { FileRoot } from './files-config.ts';

/** An entry of a folder. */
export interface FileEntry {
  readonly name: string;
  /** Canonical path, which the other file tools accept. */
  readonly path: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedAtMs: number;
}

/** Longest file that is read or written, in bytes. */
export const MAX_FILE_BYTES = 1_048_576;

/**
 * Lists, reads and writes files below the configured folders, by canonical paths. Follows no links, so that no path leads outside. Rejects
 * with NOT_FOUND, PERMISSION_DENIED (the folder is read-only, or the hub has no access), NOT_SUPPORTED (no regular file, or no UTF-8 text),
 * PAYLOAD_TOO_LARGE (above `MAX_FILE_BYTES`), CONFLICT (the path is a folder), or STORAGE_FAILED (the disk fails).
 */
export class FileRoots {
  readonly #roots: Readonly<Record<string, FileRoot>>;
  readonly #stateDir: string;

  constructor(roots: Readonly<Record<string, FileRoot>>, stateDir: string) {
    this.#roots = roots;
    this.#stateDir = stateDir;
  }

  /** Returns up to `limit` visible entries, sorted by name. Also returns the total number of visible entries. */
  async list(path: string, limit: number): Promise<{ readonly entries: readonly FileEntry[]; readonly total: number }> {
    if (path === ALL_ROOTS) {
      const names = Object.keys(this.#roots).sort();
      return { entries: names.map((name) => ({ name, path: name, type: 'folder', sizeBytes: 0, modifiedAtMs: 0 })), total: names.length };
    }
    return this.#inFolder(path, parsePath(path), async (folder) => {
      const names = (await folder.names()).filter((name) => !name.startsWith('.')).sort();
      const entries = await Promise.all(names.slice(0, limit).map((name) => entryOf(folder, name, path)));
      return { entries: entries.filter((entry) => entry !== undefined), total: names.length };
    });
  }

  /** Reads a UTF-8 text file of at most `MAX_FILE_BYTES`. */
  async read(path: string): Promise<string> {
    const { name, around } = this.#fileOf(path);
    return this.#inFolder(path, around, async (folder) => {
      await using file = await folder.openFile(name);
      const stat = await file.stat();
      if (!stat.isFile()) throw new AtmoError('NOT_SUPPORTED', `${path} is no file that can be read; list_files tells what it is`);
      const content = Buffer.alloc(MAX_FILE_BYTES + 1);
      const length = await readInto(file, content);
      if (length > MAX_FILE_BYTES) throw new AtmoError('PAYLOAD_TOO_LARGE', `${path} has more than ${MAX_FILE_BYTES} bytes`);
      return textOf(content.subarray(0, length), path);
    });
  }

  /** Creates or replaces a file, creates missing folders around it, and returns the number of written bytes. */
  async write(path: string, text: string): Promise<number> {
    const content = Buffer.from(text.toWellFormed());
    if (content.length > MAX_FILE_BYTES) throw new AtmoError('PAYLOAD_TOO_LARGE', `A file has at most ${MAX_FILE_BYTES} bytes`);
    const { name, around } = this.#fileOf(path);
    if (this.#root(around.root).writable !== true) {
      throw new AtmoError('PERMISSION_DENIED', `The folder ${around.root} is only for reading; the owner may set its writable`);
    }
    return this.#inFolder(path, { ...around, isMade: true }, async (folder) => {
      await folder.replaceFile(name, content, await existingMode(folder, name, path));
      return content.length;
    });
  }

  async #inFolder<T>(path: string, location: FolderLocation, work: (folder: DirectoryHandle) => Promise<T>): Promise<T> {
    try {
      await using folder = await this.#enter(location);
      return await work(folder);
    } catch (error) {
      throw fileError(error, path);
    }
  }

  async #enter({ root, names, isMade = false }: FolderLocation): Promise<DirectoryHandle> {
    let folder = await this.#openRoot(root);
    for (const name of names) {
      await using outer = folder;
      if (isMade) await outer.makeDirectory(name);
      folder = await outer.openDirectory(name);
    }
    return folder;
  }

  async #openRoot(name: string): Promise<DirectoryHandle> {
    const path = await realpath(this.#root(name).path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      const message = `The folder behind ${name} does not exist; the owner makes it (connectors.files.roots.${name}.path)`;
      throw new AtmoError('NOT_FOUND', message);
    });
    requireSafeRoot(name, path, await realpath(this.#stateDir));
    return DirectoryHandle.open(path);
  }

  #root(name: string): FileRoot {
    const root = Object.hasOwn(this.#roots, name) ? this.#roots[name] : undefined;
    if (root) return root;
    const names = Object.keys(this.#roots).sort().join(', ');
    throw new AtmoError('NOT_FOUND', `There is no folder ${name}; folders are: ${names}. A path begins with one of them`);
  }

  #fileOf(path: string): { readonly name: string; readonly around: FilePath } {
    const { root, names } = parsePath(path);
    this.#root(root);
    const name = names.at(-1);
    if (name === undefined) throw new AtmoError('CONFLICT', `${path} is a folder; name a file in it`);
    return { name, around: { root, names: names.slice(0, -1) } };
  }
}

interface FolderLocation extends FilePath {
  /** If true, missing folders are created. */
  readonly isMade?: boolean;
}

async function entryOf(folder: DirectoryHandle, name: string, around: string): Promise<FileEntry | undefined> {
  const stat = await folder.stat(name).catch(() => undefined);
  if (!stat) return undefined;
  const type = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'other';
  return { name, path: `${around}/${encodedName(name)}`, type, sizeBytes: stat.size, modifiedAtMs: Math.round(stat.mtimeMs) };
}

async function readInto(file: FileHandle, content: Buffer): Promise<number> {
  let length = 0;
  while (length < content.length) {
    const { bytesRead } = await file.read(content, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

async function existingMode(folder: DirectoryHandle, name: string, path: string): Promise<number> {
  const stat = await folder.stat(name).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!stat) return FILE_MODE;
  if (!stat.isFile()) throw new AtmoError('CONFLICT', `${path} is there already and is no file; choose another name`);
  return stat.mode & 0o777;
}

function textOf(content: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new AtmoError('NOT_SUPPORTED', `${path} is no text in UTF-8`);
  }
}

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Flags of open(2): follow no link, do not wait for the writer of a named pipe, and do not make a terminal the controlling terminal. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const FOLDER_MODE = 0o750;
const FILE_MODE = 0o640;

/**
 * An open folder. Each operation uses the folder's descriptor (through `/proc/self/fd`, since Node.js lacks openat(2)) and follows no
 * links. So programs that move folders or create links meanwhile cannot redirect it. Its errors are those of the system.
 */
class DirectoryHandle implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Opens a folder by its path, which must not end in a link. */
  static async open(path: string): Promise<DirectoryHandle> {
    return new DirectoryHandle(await open(path, OPEN_DIRECTORY));
  }

  openDirectory(name: string): Promise<DirectoryHandle> {
    return DirectoryHandle.open(this.#at(name));
  }

  /** Creates a folder in this folder unless it exists. */
  async makeDirectory(name: string): Promise<void> {
    await mkdir(this.#at(name), FOLDER_MODE).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }

  /** Returns the names in this folder, unsorted. */
  names(): Promise<readonly string[]> {
    return readdir(this.#at(''));
  }

  /** Returns the attributes of an entry. For a symbolic link, returns the attributes of the link itself. */
  stat(name: string): Promise<Stats> {
    return lstat(this.#at(name));
  }

  openFile(name: string): Promise<FileHandle> {
    return open(this.#at(name), OPEN_FILE);
  }

  /** Replaces a file atomically: at any moment, either the old or the new file exists. Resolves when the new file is on the disk. */
  async replaceFile(name: string, content: Uint8Array, mode: number): Promise<void> {
    const temporary = `.${randomUUID()}.part`;
    try {
      await using file = await open(this.#at(temporary), CREATE_FILE, FILE_MODE);
      await file.writeFile(content);
      await file.sync();
      await chmod(this.#at(temporary), mode);
      await rename(this.#at(temporary), this.#at(name));
    } catch (error) {
      await unlink(this.#at(temporary)).catch(() => {});
      throw error;
    }
    await this.#handle.sync();
  }

  #at(name: string): string {
    return `/proc/self/fd/${this.#handle.fd}/${name}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

/** Folders with the accounts, keys, devices or programs of the machine. Agents cannot get access to these folders. */
const SYSTEM_FOLDERS = ['/boot', '/dev', '/etc', '/proc', '/run', '/sys', '/usr', '/var/lib/atmosphere-edge'];
/** Folders for the mount points of removable disks; agents may use them although they are below a system folder. */
const MOUNT_FOLDERS = ['/run/media', '/run/mount'];

/** Throws CONFIG_INVALID if a folder would give agents access to system files or to the hub's keys. */
export function requireSafeRoot(name: string, path: string, stateDir: string): void {
  const clean = path.replace(/\/+$/, '');
  const where = `connectors.files.roots.${name}`;
  if (clean === '') throw new AtmoError('CONFIG_INVALID', `${where}: the whole machine is no folder for agents; open one folder of it`);
  if (isWithin(stateDir, clean) || isWithin(clean, stateDir)) {
    throw new AtmoError('CONFIG_INVALID', `${where}: the keys of the hub are in ${stateDir}; open another folder`);
  }
  const closed = SYSTEM_FOLDERS.find((folder) => isWithin(clean, folder) || isWithin(folder, clean));
  if (closed === undefined || MOUNT_FOLDERS.some((folder) => isWithin(clean, folder))) return;
  throw new AtmoError('CONFIG_INVALID', `${where}: ${closed} belongs to the system; open another folder`);
}

const SYSTEM_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['NOT_FOUND', 'does not exist'],
  ENOTDIR: ['NOT_FOUND', 'leads through something that is no folder, or through a link, which is not followed'],
  ELOOP: ['NOT_FOUND', 'is a link, which is not followed'],
  EISDIR: ['CONFLICT', 'is a folder'],
  EACCES: ['PERMISSION_DENIED', 'is closed to the user that the hub runs as'],
  EPERM: ['PERMISSION_DENIED', 'is closed to the user that the hub runs as'],
  ENAMETOOLONG: ['VALIDATION_ERROR', 'has a name that is too long'],
  ENXIO: ['NOT_SUPPORTED', 'is no ordinary file'],
  ENOSPC: ['STORAGE_FAILED', 'does not fit: the disk is full'],
  EDQUOT: ['STORAGE_FAILED', 'does not fit: the quota of the user is used up'],
  EROFS: ['STORAGE_FAILED', 'is read-only to the hub: its disk is, or its service lacks ReadWritePaths= for the folder (docs/install.md)'],
};

/** Converts a file system error for a caller. The new message has the canonical path instead of the path on the machine. */
function fileError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof AtmoError || !('code' in error)) return error;
  const [code, what] = SYSTEM_ERRORS[String(error.code)] ?? ['STORAGE_FAILED', `cannot be used (${error.code})`];
  return new AtmoError(code, `${path} ${what}`, { path }, { cause: error });
}
