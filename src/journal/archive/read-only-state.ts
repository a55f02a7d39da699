import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toStorageError } from '../storage-error.ts';
import { ASIDE_PREFIX } from './state-files.ts';

/**
 * A copy, for as long as it is in use, of a state directory on a disk that takes no writes any more: SQLite has to write beside a
 * database whose last pages are in its log. It lies in the folder for temporary files (TMPDIR), which is memory on most boards.
 */
export class WritableCopy implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** STORAGE_FAILED when there is no room. */
  static async of(stateDir: string): Promise<WritableCopy> {
    const copy = new WritableCopy(await mkdtemp(join(tmpdir(), 'atmo-backup-')));
    const isWanted = (source: string) => {
      const [name = ''] = source.slice(stateDir.length + 1).split('/');
      return name !== 'snapshots' && !name.startsWith(ASIDE_PREFIX);
    };
    try {
      await cp(stateDir, copy.path, { recursive: true, filter: isWanted });
      return copy;
    } catch (error) {
      await copy[Symbol.asyncDispose]();
      throw toStorageError(error, copy.path);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
