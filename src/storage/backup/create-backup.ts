import { existsSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { attemptWrite, syncPath } from '../../core/files/file-system.ts';
import { SnapshotFolder } from '../snapshot-folder.ts';
import { AUDIT_FRONT, stateFiles } from '../state-directory.ts';
import { guardStorageAsync } from '../storage-error.ts';
import { type ArchiveSource, type ArchiveTable, archiveContent, OUTSIDE } from './archive-content.ts';
import { type ArchiveKey, sealStream } from './archive-encryption.ts';

/** What a backup contains, and the passphrase that encrypts it. */
export interface BackupOptions {
  readonly stateDir: string;
  /** Copies of the databases. All other files are read in place. */
  readonly copies: readonly DatabaseCopy[];
  readonly isRunning: boolean;
  /** Absolute paths of files outside of the state directory. */
  readonly outside: readonly string[];
  readonly head: Omit<ArchiveTable, 'entries'>;
  readonly passphrase: string;
  readonly key: Partial<ArchiveKey>;
}

/** Number of files and size of an archive. */
export interface ArchiveFigures {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Writes an archive of a state directory to `target`. Throws STORAGE_FAILED if a file cannot be read or written, CONFLICT if a file became
 * shorter while it was read, NOT_FOUND if the directory has no `hub.key`.
 */
export async function createArchive(order: BackupOptions, target: Pick<BackupFile, 'write'>): Promise<ArchiveFigures> {
  return await guardStorageAsync(order.stateDir, async () => {
    const sources: ArchiveSource[] = [];
    await using handles = new AsyncDisposableStack();
    for (const [path, file] of filesOf(order)) {
      const source = await openSource(path, file);
      handles.use(source.handle);
      sources.push(source);
    }
    requireIdentity(sources, order.stateDir);
    let bytes = 0;
    for await (const piece of sealStream(archiveContent(order.head, sources), order.passphrase, order.key)) {
      await target.write(piece);
      bytes += piece.length;
    }
    return { files: sources.length, bytes };
  });
}

/** Yields for each file its path in the archive and its path on the disk. */
function* filesOf({ stateDir, copies, isRunning, outside }: BackupOptions): Generator<readonly [path: string, file: string]> {
  for (const { database, copy } of copies) yield [database, join(stateDir, copy)];
  // audit.front is omitted while the hub runs, because the copy of audit.db already contains its rows.
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

/** Writes a file under a temporary name, and gives it its final name when it is complete. Without a file name, writes to stdout. */
export class BackupFile {
  readonly #handle: FileHandle;
  readonly #file: string | undefined;

  private constructor(handle: FileHandle, file: string | undefined) {
    this.#handle = handle;
    this.#file = file;
  }

  /** Creates the file. Throws CONFLICT if it exists, NOT_FOUND if its folder is missing, STORAGE_FAILED if the disk refuses. */
  static async open(file: string | undefined): Promise<BackupFile> {
    if (file === undefined) return new BackupFile(await open('/dev/stdout', 'w'), undefined);
    if (existsSync(file)) throw new AtmoError('CONFLICT', `${file} is there already; name a new file`, { file });
    const folder = dirname(file);
    if (!existsSync(folder))
      throw new AtmoError('NOT_FOUND', `There is no folder ${folder}; mount the disk or make the folder first`, { file });
    return guardStorageAsync(file, async () => {
      // An existing partial file is removed first. In a shared folder such as /tmp, another user may have created it. It could be a link to
      // a file of ours, or a file that others can read.
      await rm(`${file}.partial`, { force: true });
      return new BackupFile(await open(`${file}.partial`, 'wx', 0o600), file);
    });
  }

  /** Writes bytes to the file. Throws STORAGE_FAILED if the disk refuses. */
  write(piece: Uint8Array): Promise<void> {
    return guardStorageAsync(this.#file ?? 'stdout', () => this.#handle.writeFile(piece));
  }

  /** Syncs and closes the file and gives it its final name. Throws STORAGE_FAILED if the disk refuses. */
  async commit(): Promise<void> {
    const file = this.#file;
    await guardStorageAsync(file ?? 'stdout', async () => {
      if (file !== undefined) await this.#handle.sync();
      await this.#handle.close();
      if (file !== undefined) await rename(`${file}.partial`, file);
    });
    try {
      // The folder is synced, so that the file has its final name even if the disk is unplugged right afterwards.
      if (file !== undefined) syncPath(dirname(file));
    } catch {
      // The error is ignored: the content of the file is on the disk, and some file systems cannot sync a folder.
    }
  }

  /** Deletes the incomplete file. Never throws, since the caller already has the error that matters. */
  async drop(): Promise<void> {
    try {
      await this.#handle.close();
      if (this.#file !== undefined) await rm(`${this.#file}.partial`, { force: true });
    } catch {
      // The error is ignored: the next backup with the same name replaces the partial file.
    }
  }
}

/** Paths of a database and of its consistent copy, relative to the state directory. */
interface DatabaseCopy {
  readonly database: string;
  readonly copy: string;
}

/** A database that this process has open exclusively. */
interface OpenDatabase {
  readonly name: string;
  snapshot(): Promise<{ readonly path: string }>;
}

const SNAPSHOTS = 'snapshots';
/** Prefix of copies that are made only for a backup. */
const COPY_PREFIX = 'backup-';

/** Makes a consistent copy of each database of a state directory, also while the hub runs. */
export class DatabaseCopies {
  readonly #clock: Clock;
  readonly #stateDir: string;
  readonly #open: readonly OpenDatabase[];

  /**
   * `open` lists databases in the order of copying. A copy may refer to rows in the next database, which is therefore copied later. The
   * last database of the list is copied after all others, including those that are not in the list.
   */
  constructor(clock: Clock, stateDir: string, open: readonly OpenDatabase[] = []) {
    this.#clock = clock;
    this.#stateDir = stateDir;
    this.#open = open;
  }

  /** Copies all databases. Throws STORAGE_FAILED if the disk refuses. */
  async take(): Promise<readonly DatabaseCopy[]> {
    const ours = new Set(this.#open.map(({ name }) => name));
    const others = stateFiles(this.#stateDir).databases.filter((database) => !ours.has(database));
    const copies: DatabaseCopy[] = [];
    for (const database of this.#open.slice(0, -1)) copies.push(await this.#snapshotOf(database));
    for (const database of others) copies.push(await this.#copyOf(database));
    for (const database of this.#open.slice(-1)) copies.push(await this.#snapshotOf(database));
    return copies;
  }

  /** Deletes the copies that were made only for a backup. Copies that cannot be deleted now are deleted after the next backup. */
  drop(): void {
    const folder = join(this.#stateDir, SNAPSHOTS);
    attemptWrite(() => {
      for (const name of readdirSync(folder)) if (name.startsWith(COPY_PREFIX)) rmSync(join(folder, name), { force: true });
    });
  }

  async #snapshotOf({ name, snapshot }: OpenDatabase): Promise<DatabaseCopy> {
    return { database: name, copy: this.#relative((await snapshot()).path) };
  }

  /** Copies a database through a connection of its own. Waits up to 5 s if another connection has locked the database. */
  async #copyOf(database: string): Promise<DatabaseCopy> {
    const path = join(this.#stateDir, database);
    const folder = new SnapshotFolder(join(this.#stateDir, SNAPSHOTS), `${COPY_PREFIX}${database.replaceAll('/', '-')}`, 1);
    return await guardStorageAsync(path, async () => {
      folder.prepare();
      using connection = new DatabaseSync(path, { readOnly: true });
      connection.exec('PRAGMA busy_timeout = 5000');
      return { database, copy: this.#relative((await folder.take(connection, this.#clock.now())).path) };
    });
  }

  #relative(path: string): string {
    return `${SNAPSHOTS}/${basename(path)}`;
  }
}
