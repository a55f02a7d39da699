import { AtmoError } from '../core/errors.ts';

type Cause = 'full' | 'not-writable' | 'damaged' | 'in-use' | 'disk-fault' | 'no-file';

/**
 * Primary result codes (https://sqlite.org/rescode.html; extended ones keep them in the low byte): SQLITE_BUSY, READONLY, IOERR,
 * CORRUPT, FULL, CANTOPEN, NOTADB.
 */
const BY_SQLITE: Readonly<Record<number, Cause>> = {
  5: 'in-use',
  8: 'not-writable',
  10: 'disk-fault',
  11: 'damaged',
  13: 'full',
  14: 'not-writable',
  26: 'damaged',
};
/** SQLITE_IOERR_SHMSIZE: the index of the log could not grow, which is a full disk as well. */
const IOERR_SHMSIZE = 4874;

const BY_ERRNO: Readonly<Record<string, Cause>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EACCES: 'not-writable',
  EPERM: 'not-writable',
  EROFS: 'not-writable',
  ENOENT: 'not-writable',
  ENOTDIR: 'no-file',
  EIO: 'disk-fault',
  EISDIR: 'no-file',
  EEXIST: 'no-file',
};

const REMEDY: Readonly<Record<Cause, string>> = {
  full: 'the disk is full or the file has reached its bound. Free space there: a hub that runs goes on by itself, one that did not start has to be started again',
  'not-writable': "it cannot be opened or written. Give its folder to the hub's user, and mount it read-write",
  damaged: 'it is damaged. Restart the hub: it sets the file aside and restores the newest good snapshot',
  'in-use': 'another process holds it. Stop that process, or give this hub another ATMO_STATE_DIR',
  'no-file': 'something else lies in its place, such as a folder where a file belongs. Move it away',
  'disk-fault': 'the disk reports input or output errors. See `dmesg`, and move the state directory to a sound disk',
};

/** True when the content of a database is damaged. */
export function isDamage(thrown: unknown): boolean {
  return causeOf(thrown) === 'damaged';
}

/** True when there is no room on the disk. */
export function isFull(thrown: unknown): boolean {
  return causeOf(thrown) === 'full';
}

/** True for an error of SQLite that neither the disk nor another process caused. */
export function isOfContent(thrown: unknown): boolean {
  const cause = causeOf(thrown);
  return cause === 'damaged' || (cause === undefined && thrown instanceof Error && 'errcode' in thrown);
}

/** True when another connection or process holds the file. */
export function isInUse(thrown: unknown): boolean {
  return causeOf(thrown) === 'in-use';
}

/** STORAGE_FAILED for a file whose content is damaged. */
export function damagedError(path: string, finding: string): AtmoError {
  return new AtmoError('STORAGE_FAILED', `${path}: ${REMEDY.damaged} (${finding})`, {
    path,
    cause: 'damaged',
    finding: `is damaged (${finding})`,
  });
}

/** The remedy for a disk that refuses writes, in the words of `/healthz`; undefined for another failure. */
export function storageProblem(thrown: unknown): string | undefined {
  const cause = thrown instanceof AtmoError && thrown.code === 'STORAGE_FAILED' ? thrown.details.cause : undefined;
  return cause === 'full' || cause === 'not-writable' || cause === 'disk-fault' ? REMEDY[cause] : undefined;
}

/**
 * An error of SQLite or the file system as STORAGE_FAILED, with the remedy; `details.cause` is one of full, not-writable, damaged,
 * in-use, disk-fault, no-file. Any other error, a bug, is returned unchanged.
 */
export function toStorageError(thrown: unknown, path: string): unknown {
  const cause = causeOf(thrown);
  if (cause === undefined || thrown instanceof AtmoError) return thrown;
  return new AtmoError('STORAGE_FAILED', `${path}: ${REMEDY[cause]} (${reasonOf(thrown)})`, { path, cause }, { cause: thrown });
}

/** The message of an error, for warnings. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** As `guardStorage`, for work that takes time. */
export async function guardStorageAsync<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error, path);
  }
}

/** Runs work on the file at `path`; errors of the storage become STORAGE_FAILED. */
export function guardStorage<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw toStorageError(error, path);
  }
}

function causeOf(thrown: unknown): Cause | undefined {
  if (thrown instanceof AtmoError) return thrown.details.cause === 'damaged' ? 'damaged' : undefined;
  if (!(thrown instanceof Error)) return undefined;
  if ('errcode' in thrown && typeof thrown.errcode === 'number')
    return thrown.errcode === IOERR_SHMSIZE ? 'full' : BY_SQLITE[thrown.errcode & 0xff];
  if ('code' in thrown && typeof thrown.code === 'string') return BY_ERRNO[thrown.code];
  return undefined;
}
