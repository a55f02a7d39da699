import { readdirSync, statSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toStorageError } from './storage-error.ts';

/** The files of a hub, by paths below its state directory with `/`. */
export interface StateFiles {
  readonly databases: readonly string[];
  readonly others: readonly string[];
}

/** Folder in which a restore unpacks. */
export const RESTORE_FOLDER = 'restore.new';
/** File that exists while a restore moves files into their places. */
export const RESTORE_MARKER = 'restore.pending';
/** Beginning of the name of a folder with the files that a restore replaced. */
export const ASIDE_PREFIX = 'before-restore-';
/** Names that a restore itself uses in a state directory: never moved, and in no backup. */
export const RESTORE_NAMES = /^(lock\.db|restore\.|before-restore-)/;
/** Lines of the audit log that are not in audit.db yet. */
export const AUDIT_FRONT = 'audit.front';

const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  'snapshots',
  'tls/snapshots',
  'matter/snapshots',
  'matter/quarantine',
  RESTORE_FOLDER,
]);
/** The lock, the anchors of the present files, side files of open databases, files that were set aside, and partial files. */
const SKIPPED_FILES =
  /^(lock\.db|restore\.pending|anchors$|trust\.log$)|(-wal|-shm|-journal|\.partial|\.part|\.tmp|\.new)$|\.corrupt-|\.damaged-|(^|\/)matter\.(pid|lock)$/;

/** Every file that a backup has to hold, in the order of the paths, without links. */
export function stateFiles(stateDir: string): StateFiles {
  const paths = [...filesBelow(stateDir, '')].sort();
  const isDatabase = (path: string) => path.endsWith('.db');
  return { databases: paths.filter(isDatabase), others: paths.filter((path) => !isDatabase(path)) };
}

function* filesBelow(stateDir: string, folder: string): Generator<string> {
  for (const entry of readdirSync(join(stateDir, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(path) && !path.startsWith(ASIDE_PREFIX)) yield* filesBelow(stateDir, path);
    if (entry.isFile() && !SKIPPED_FILES.test(path)) yield path;
  }
}

/**
 * A temporary copy of a state directory on a disk that takes no more writes: SQLite has to write beside a database whose last pages are
 * in its log. It lies in the folder for temporary files (TMPDIR), which is memory on most boards.
 */
export class WritableCopy implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Throws STORAGE_FAILED without room. */
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

/**
 * Runs work as the user to whom `path` belongs, where this process is root: the hub could not read files of root. As any other user it
 * only runs the work.
 */
export async function runAsOwnerOf<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const { geteuid, getegid, setegid, seteuid } = process;
  const owner = statSync(path, { throwIfNoEntry: false });
  if (!owner || !geteuid || !getegid || !setegid || !seteuid || geteuid() !== 0 || owner.uid === 0) return work();
  const before = { uid: geteuid(), gid: getegid() };
  setegid(owner.gid);
  seteuid(owner.uid);
  try {
    return await work();
  } finally {
    seteuid(before.uid);
    setegid(before.gid);
  }
}
