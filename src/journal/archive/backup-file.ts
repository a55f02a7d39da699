import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { syncPath } from '../../core/storage/durable-file.ts';
import { toStorageError } from '../storage-error.ts';

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
  async keep(): Promise<void> {
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
