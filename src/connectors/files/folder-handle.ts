import { constants, type Stats } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Without waiting for whoever writes into a pipe, and never as the terminal of the hub. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const FOLDER_MODE = 0o750;
const FILE_MODE = 0o640;

/**
 * An open folder. What is done in it is done by its descriptor (`/proc/self/fd`, the way to openat(2) in Node), one name at a
 * time and following no links: whoever moves folders or puts links there meanwhile changes nothing about where it happens.
 * Errors are those of the system.
 */
export class FolderHandle implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Opens a folder by its path, which must not end in a link. */
  static async open(path: string): Promise<FolderHandle> {
    return new FolderHandle(await open(path, FOLDER));
  }

  /** Opens a folder in it. */
  enter(name: string): Promise<FolderHandle> {
    return FolderHandle.open(this.#at(name));
  }

  /** Makes a folder in it unless there is one. */
  async make(name: string): Promise<void> {
    await mkdir(this.#at(name), FOLDER_MODE).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }

  /** Names in it, in no order. */
  names(): Promise<readonly string[]> {
    return readdir(this.#at(''));
  }

  /** What a name is; of a link, the link itself. */
  stat(name: string): Promise<Stats> {
    return lstat(this.#at(name));
  }

  openFile(name: string): Promise<FileHandle> {
    return open(this.#at(name), READ);
  }

  /** Puts a file there in one step, on the disk when this returns: at any moment there is the old one or the new one. */
  async replace(
    name: string,
    content: Uint8Array,
    { mode = FILE_MODE, temporary }: { readonly mode?: number; readonly temporary: string },
  ) {
    try {
      await using file = await open(this.#at(temporary), CREATE, FILE_MODE);
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
