import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makePrivateFolder } from '../../core/files/file-system.ts';
import { quickCheck } from '../checked-database.ts';
import { moveRestoreIntoPlace, removeUnpackedRestore } from '../pending-restore.ts';
import { RESTORE_FOLDER } from '../state-directory.ts';
import { StateLock } from '../state-lock.ts';
import { guardStorage, toStorageError } from '../storage-error.ts';
import { type ArchiveTable, unpackContent, unusableBackup } from './archive-content.ts';
import { type Derive, openStream } from './archive-encryption.ts';

/** What a restore needs: the archive, the state directory, and the checks of the content. */
export interface RestoreOptions {
  readonly stateDir: string;
  readonly archive: AsyncIterable<Uint8Array>;
  readonly passphrase: string;
  readonly derive: Derive;
  /** Checks the table of the backup. Throws if this version of the software cannot use the backup. */
  accept(table: ArchiveTable): void;
  /** Prepares the unpacked files for use. Throws if they are unusable. */
  advance(directory: string, table: ArchiveTable): Promise<void>;
  readonly now: string;
}

/** The result of a restore. */
export interface RestoreResult {
  readonly table: ArchiveTable;
  /** Folder with the earlier files; absent if there were none. */
  readonly aside?: string;
}

/**
 * Replaces the content of a state directory by the content of an archive. No file moves before everything is unpacked, authenticated and
 * checked, so an error until then changes nothing. Throws CONFLICT if a hub uses the directory, STORAGE_FAILED if the disk refuses. Also
 * throws the errors of `openStream`, `unpackContent`, `accept` and `advance`.
 */
export async function restoreArchive(order: RestoreOptions): Promise<RestoreResult> {
  const { stateDir, archive, passphrase, derive } = order;
  guardStorage(stateDir, () => makePrivateFolder(stateDir));
  await using lock = new StateLock(stateDir);
  await lock.start();
  const folder = join(stateDir, RESTORE_FOLDER);
  try {
    guardStorage(folder, () => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { mode: 0o700 });
    });
    const table = await unpackContent(openStream(archive, passphrase, derive), folder, order.accept);
    checkUnpacked(folder, table);
    await order.advance(folder, table);
    const aside = moveRestoreIntoPlace(stateDir, order.now);
    return { table, ...(aside !== undefined && { aside: join(stateDir, aside) }) };
  } catch (error) {
    throw toStorageError(error, folder);
  } finally {
    removeUnpackedRestore(stateDir);
  }
}

function checkUnpacked(folder: string, { entries }: ArchiveTable): void {
  const paths = entries.map(({ path }) => path);
  if (!paths.includes('hub.key')) throw unusableBackup('it holds no hub.key');
  for (const path of paths.filter((name) => name.endsWith('.db'))) {
    const file = join(folder, path);
    guardStorage(file, () => {
      // A read-only connection would leave side files (`-wal`, `-shm`), so the database is opened for writing.
      using database = new DatabaseSync(file);
      quickCheck(database, file);
    });
  }
}
