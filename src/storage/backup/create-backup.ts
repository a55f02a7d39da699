import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { syncPath } from '../../core/files/file-system.ts';
import { AUDIT_FRONT, stateFiles } from '../state-files.ts';
import { toStorageError } from '../storage-error.ts';
import { type ArchiveSource, type ArchiveTable, archiveContent, OUTSIDE } from './archive-content.ts';
import { type Derive, sealStream } from './archive-encryption.ts';
import type { DatabaseCopy } from './database-copies.ts';

/** What is to be backed up, and how. */
export interface BackupOptions {
  readonly stateDir: string;
  /** Of the databases; all other files are taken as they lie there. */
  readonly copies: readonly DatabaseCopy[];
  readonly isRunning: boolean;
  /** Absolute paths of files from elsewhere. */
  readonly outside: readonly string[];
  readonly head: Omit<ArchiveTable, 'entries'>;
  readonly passphrase: string;
  readonly derive: Derive;
}

/** Where the bytes of an archive go, one piece after the other. */
interface ArchiveTarget {
  write(piece: Uint8Array): Promise<void>;
}

/** What went into an archive. */
export interface ArchiveFigures {
  readonly files: number;
  /** Of the archive. */
  readonly bytes: number;
}

/** Writes the archive of a state directory to `target`. STORAGE_FAILED; CONFLICT when a file changed meanwhile. */
export async function createArchive(order: BackupOptions, target: ArchiveTarget): Promise<ArchiveFigures> {
  const sources: ArchiveSource[] = [];
  try {
    for (const [path, file] of filesOf(order)) sources.push(await openSource(path, file));
    requireIdentity(sources, order.stateDir);
    let bytes = 0;
    for await (const piece of sealStream(archiveContent(order.head, sources), order.passphrase, order.derive)) {
      await target.write(piece);
      bytes += piece.length;
    }
    return { files: sources.length, bytes };
  } catch (error) {
    throw toStorageError(error, order.stateDir);
  } finally {
    for (const { handle } of sources) await handle.close();
  }
}

/** Paths in the archive with those on the disk. */
function* filesOf({ stateDir, copies, isRunning, outside }: BackupOptions): Generator<readonly [path: string, file: string]> {
  for (const { database, copy } of copies) yield [database, join(stateDir, copy)];
  // While the hub runs the copy of audit.db has its lines.
  const isWanted = (path: string) => !(isRunning && path === AUDIT_FRONT);
  for (const path of stateFiles(stateDir).others.filter(isWanted)) yield [path, join(stateDir, path)];
  for (const file of outside) yield [`${OUTSIDE}${file}`, file];
}

async function openSource(path: string, file: string): Promise<ArchiveSource> {
  const handle = await open(file, 'r');
  const { size, mode } = await handle.stat();
  return { path, bytes: size, isExecutable: (mode & 0o100) !== 0, handle };
}

function requireIdentity(sources: readonly ArchiveSource[], stateDir: string): void {
  if (sources.some(({ path }) => path === 'hub.key')) return;
  throw new AtmoError('NOT_FOUND', `${stateDir} holds no hub: it has no hub.key. Set ATMO_STATE_DIR to the hub's state directory`, {
    stateDir,
  });
}

/** A new file that is there under its name once it is whole. */
export class BackupFile {
  readonly #handle: FileHandle;
  readonly #file: string | undefined;

  private constructor(handle: FileHandle, file: string | undefined) {
    this.#handle = handle;
    this.#file = file;
  }

  /** CONFLICT when it is there already, NOT_FOUND without its folder, STORAGE_FAILED. */
  static async open(file: string | undefined): Promise<BackupFile> {
    if (file === undefined) return new BackupFile(await open('/dev/stdout', 'w'), undefined);
    if (existsSync(file)) throw new AtmoError('CONFLICT', `${file} is there already; name a new file`, { file });
    const folder = dirname(file);
    if (!existsSync(folder))
      throw new AtmoError('NOT_FOUND', `There is no folder ${folder}; mount the disk or make the folder first`, { file });
    try {
      // Where others write too, such as /tmp, it may be their link to a file of ours, or a file that they can read.
      await rm(`${file}.partial`, { force: true });
      return new BackupFile(await open(`${file}.partial`, 'wx', 0o600), file);
    } catch (error) {
      throw toStorageError(error, file);
    }
  }

  /** STORAGE_FAILED. */
  async write(piece: Uint8Array): Promise<void> {
    try {
      await this.#handle.writeFile(piece);
    } catch (error) {
      throw toStorageError(error, this.#file ?? 'stdout');
    }
  }

  /** STORAGE_FAILED. */
  async commit(): Promise<void> {
    try {
      if (this.#file !== undefined) await this.#handle.sync();
      await this.#handle.close();
      if (this.#file === undefined) return;
      await rename(`${this.#file}.partial`, this.#file);
    } catch (error) {
      throw toStorageError(error, this.#file ?? 'stdout');
    }
    try {
      // Else a disk that is pulled at once has it under its other name.
      syncPath(dirname(this.#file));
    } catch {
      // There are file systems that sync no folder; what is in the file is on the disk.
    }
  }

  /** Never throws: why the file is dropped is what people have to hear. */
  async drop(): Promise<void> {
    try {
      await this.#handle.close();
      if (this.#file !== undefined) await rm(`${this.#file}.partial`, { force: true });
    } catch {
      // A disk that takes no writes lets no file go either; the next backup of the name takes its place.
    }
  }
}
