import { accessSync, chmodSync, constants, existsSync, lstatSync, readdirSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { makePrivateFolder } from '../core/files/file-system.ts';
import type { Logger } from '../core/logger.ts';
import { guardStorage, toStorageError } from './storage-error.ts';

/** The folders of a hub's durable state, which only the hub's user may open. */
export interface StateDirectory {
  /** Folder with the databases and the owner's token. */
  readonly root: string;
  /** Folder of matter.js's storage: the fabric and its keys. */
  readonly matter: string;
  readonly snapshots: string;
}

/** The state directory of a hub that runs as a service (FHS 3.0 §5.8). */
export const SYSTEM_STATE_DIRECTORY = '/var/lib/atmosphere-edge';

/** Returns ATMO_STATE_DIR if set. Otherwise returns /var/lib/atmosphere-edge if writable, and ~/.local/state/atmosphere-edge if not. */
export function defaultStateDirectory(env: NodeJS.ProcessEnv, system = SYSTEM_STATE_DIRECTORY): string {
  if (env.ATMO_STATE_DIR) return resolve(env.ATMO_STATE_DIR);
  if (isWritable(existsSync(system) ? system : dirname(system))) return system;
  return join(env.HOME ?? homedir(), '.local/state/atmosphere-edge');
}

/**
 * Creates the state directory and its folders with mode 0700, and removes the permissions of group and others from existing folders. Throws
 * STORAGE_FAILED if a folder cannot be created, is no directory, or belongs to another user.
 */
export function prepareStateDirectory(path: string, logger: Logger): StateDirectory {
  const root = resolve(path);
  const directory = { root, matter: join(root, 'matter'), snapshots: join(root, 'snapshots') };
  for (const folder of Object.values(directory)) guardStorage(folder, () => makePrivate(folder, logger));
  return directory;
}

function makePrivate(folder: string, logger: Logger): void {
  if (!lstatSync(folder, { throwIfNoEntry: false })) makePrivateFolder(folder);
  const stat = lstatSync(folder);
  if (!stat.isDirectory()) refuse(folder, 'is a file or a link, not a directory: name the directory itself');
  const uid = process.getuid?.();
  if (uid !== undefined && stat.uid !== uid) {
    refuse(
      folder,
      `belongs to user ${stat.uid}, but the hub runs as ${uid}: run \`chown -R ${uid} ${folder}\`, or take another ATMO_STATE_DIR`,
    );
  }
  if ((stat.mode & 0o077) === 0) return;
  chmodSync(folder, 0o700);
  logger.warn('storage.directory_restricted', { folder, modeBefore: (stat.mode & 0o777).toString(8), mode: '700' });
}

function refuse(folder: string, problem: string): never {
  throw new AtmoError('STORAGE_FAILED', `The state directory ${folder} ${problem}`, { path: folder });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Folder with the backups that the hub itself writes, if the configuration names no other. A restore leaves it where it is. */
export const BACKUP_FOLDER = 'backups';
/** Folder in which a restore unpacks the archive. */
export const RESTORE_FOLDER = 'restore.new';
/** File that exists while a restore moves files. */
export const RESTORE_MARKER = 'restore.pending';
/** Name prefix of the folders in which a restore keeps the replaced files. */
export const ASIDE_PREFIX = 'before-restore-';
/** Matches names that the lock, a restore and the hub's own backups use in a state directory. A restore never moves such files, and no backup contains them. */
export const RESTORE_NAMES = /^(lock\.db|restore\.|before-restore-|backups(\/|$))/;
/** File with rows of the audit log that are not in audit.db yet. */
export const AUDIT_FRONT = 'audit.front';

const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  'snapshots',
  'tls/snapshots',
  'matter/snapshots',
  'matter/quarantine',
  BACKUP_FOLDER,
  RESTORE_FOLDER,
]);
/**
 * Files that are never backed up: lock, anchors, trust.log, times of starts, side files of open databases, files that were set aside, and
 * partial files.
 */
const SKIPPED_FILES =
  /^(lock\.db|restore\.pending|anchors$|trust\.log$|starts\.json$)|(-wal|-shm|-journal|\.partial|\.part|\.tmp|\.new)$|\.corrupt-|\.damaged-|(^|\/)matter\.(pid|lock)$/;

/** Returns all files that a backup must contain, sorted by path, without links. */
export function stateFiles(stateDir: string): { readonly databases: readonly string[]; readonly others: readonly string[] } {
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
 * Holds a temporary copy of a state directory on a read-only or full disk. SQLite must write a side file even to read a database whose last
 * pages are in its log. The copy is in the folder for temporary files (TMPDIR), which most boards keep in memory.
 */
export class WritableCopy implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Copies a state directory. Throws STORAGE_FAILED if there is no room for the copy. */
  static async of(stateDir: string): Promise<WritableCopy> {
    const copy = new WritableCopy(await mkdtemp(join(tmpdir(), 'atmo-backup-')));
    const isWanted = (source: string) => {
      const [name = ''] = source.slice(stateDir.length + 1).split('/');
      return name !== 'snapshots' && name !== BACKUP_FOLDER && !name.startsWith(ASIDE_PREFIX);
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
