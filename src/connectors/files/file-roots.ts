import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { AtmoError } from '../../core/errors.ts';
import { fileFailure } from './file-failure.ts';
import { ALL_ROOTS, encodedName, type FilePath, parsePath } from './file-path.ts';
import type { FileRoot } from './files-config.ts';
import { FolderHandle } from './folder-handle.ts';
import { requireHarmless } from './harmless-root.ts';

/** Something in a folder. */
export interface FileEntry {
  readonly name: string;
  /** As the other tools take it. */
  readonly path: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedAtMs: number;
}

/** Source 004: at most 1 MB. */
export const MAX_FILE_BYTES = 1_048_576;

/**
 * Files below the folders that the owner opened, by canonical paths. Links are not followed, so nothing leads out. Errors:
 * NOT_FOUND, PERMISSION_DENIED (a folder that is only read, or closed to the hub), NOT_SUPPORTED (no ordinary file, no text),
 * PAYLOAD_TOO_LARGE, CONFLICT (a folder where a file should be), STORAGE_FAILED.
 */
export class FileRoots {
  readonly #roots: Readonly<Record<string, FileRoot>>;
  readonly #stateDir: string;

  constructor(roots: Readonly<Record<string, FileRoot>>, stateDir: string) {
    this.#roots = roots;
    this.#stateDir = stateDir;
  }

  /** Up to `limit` entries by name, and how many there are; hidden ones are left out. */
  async list(path: string, limit: number): Promise<{ readonly entries: readonly FileEntry[]; readonly total: number }> {
    if (path === ALL_ROOTS) return this.#listRoots();
    return this.#inFolder(path, parsePath(path), async (folder) => {
      const names = (await folder.names()).filter((name) => !name.startsWith('.')).sort();
      const entries = await Promise.all(names.slice(0, limit).map((name) => entryOf(folder, name, path)));
      return { entries: entries.filter((entry) => entry !== undefined), total: names.length };
    });
  }

  /** A text file in UTF-8 of at most `MAX_FILE_BYTES`. */
  async read(path: string): Promise<string> {
    const { name, around } = this.#fileOf(path);
    return this.#inFolder(path, around, async (folder) => {
      await using file = await folder.openFile(name);
      const stat = await file.stat();
      if (!stat.isFile()) throw new AtmoError('NOT_SUPPORTED', `${path} is no file that can be read; list_files tells what it is`);
      const content = Buffer.alloc(MAX_FILE_BYTES + 1);
      const length = await filled(file, content);
      if (length > MAX_FILE_BYTES) throw new AtmoError('PAYLOAD_TOO_LARGE', `${path} has more than ${MAX_FILE_BYTES} bytes`);
      return textOf(content.subarray(0, length), path);
    });
  }

  /** Writes a file and the folders around it, replacing one of that name; answers the bytes written. */
  async write(path: string, text: string): Promise<number> {
    const content = Buffer.from(text.toWellFormed());
    if (content.length > MAX_FILE_BYTES) throw new AtmoError('PAYLOAD_TOO_LARGE', `A file has at most ${MAX_FILE_BYTES} bytes`);
    const { name, around } = this.#fileOf(path);
    if (this.#root(around.root).writable !== true) {
      throw new AtmoError('PERMISSION_DENIED', `The folder ${around.root} is only for reading; the owner may set its writable`);
    }
    return this.#inFolder(path, { ...around, isMade: true }, async (folder) => {
      const mode = await modeToKeep(folder, name, path);
      await folder.replace(name, content, { ...mode, temporary: `.${randomUUID()}.part` });
      return content.length;
    });
  }

  async #inFolder<T>(
    path: string,
    place: FilePath & { readonly isMade?: boolean },
    work: (folder: FolderHandle) => Promise<T>,
  ): Promise<T> {
    try {
      await using folder = await this.#enter(place);
      return await work(folder);
    } catch (error) {
      throw fileFailure(error, path);
    }
  }

  async #enter({ root, names, isMade = false }: FilePath & { readonly isMade?: boolean }): Promise<FolderHandle> {
    let folder = await this.#openRoot(root);
    for (const name of names) {
      await using outer = folder;
      if (isMade) await outer.make(name);
      folder = await outer.enter(name);
    }
    return folder;
  }

  async #openRoot(name: string): Promise<FolderHandle> {
    const path = await realpath(this.#root(name).path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      throw new AtmoError(
        'NOT_FOUND',
        `The folder behind ${name} does not exist; the owner makes it (connectors.files.roots.${name}.path)`,
      );
    });
    requireHarmless(name, path, await realpath(this.#stateDir));
    return FolderHandle.open(path);
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

  async #listRoots() {
    const names = Object.keys(this.#roots).sort();
    const entries = names.map((name) => ({ name, path: name, type: 'folder', sizeBytes: 0, modifiedAtMs: 0 }) as const);
    return { entries, total: entries.length };
  }
}

async function entryOf(folder: FolderHandle, name: string, around: string): Promise<FileEntry | undefined> {
  const stat = await folder.stat(name).catch(() => undefined);
  if (!stat) return undefined;
  const type = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'other';
  return { name, path: `${around}/${encodedName(name)}`, type, sizeBytes: stat.size, modifiedAtMs: Math.round(stat.mtimeMs) };
}

async function filled(file: { read(buffer: Buffer, offset: number): Promise<{ bytesRead: number }> }, content: Buffer): Promise<number> {
  let length = 0;
  while (length < content.length) {
    const { bytesRead } = await file.read(content, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

async function modeToKeep(folder: FolderHandle, name: string, path: string): Promise<{ readonly mode?: number }> {
  const stat = await folder.stat(name).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!stat) return {};
  if (!stat.isFile()) throw new AtmoError('CONFLICT', `${path} is there already and is no file; choose another name`);
  return { mode: stat.mode & 0o777 };
}

function textOf(content: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new AtmoError('NOT_SUPPORTED', `${path} is no text in UTF-8`);
  }
}
