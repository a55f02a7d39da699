import { AtmoError } from '../core/errors.ts';

type Cause = 'full' | 'not-writable' | 'damaged' | 'in-use' | 'disk-fault' | 'no-file';

/**
 * Causes by primary SQLite result code (https://sqlite.org/rescode.html): SQLITE_BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB.
 * Extended codes have the primary code in the low byte.
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
/** SQLITE_IOERR_SHMSIZE: the index of the log could not grow, so the disk is full. */
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

/** Returns whether the content of the file caused an error of SQLite. For an unknown error of SQLite, returns true. */
export function isOfContent(thrown: unknown): boolean {
  const cause = causeOf(thrown);
  return cause === 'damaged' || (cause === undefined && thrown instanceof Error && 'errcode' in thrown);
}

/** Returns the error STORAGE_FAILED for a file whose content is damaged. */
export function damagedError(path: string, finding: string): AtmoError {
  return new AtmoError('STORAGE_FAILED', `${path}: ${REMEDY.damaged} (${finding})`, {
    path,
    cause: 'damaged',
    finding: `is damaged (${finding})`,
  });
}

/** If the disk refuses writes, returns the remedy that `/healthz` shows. Returns undefined for any other error. */
export function storageProblem(thrown: unknown): string | undefined {
  const cause = thrown instanceof AtmoError && thrown.code === 'STORAGE_FAILED' ? thrown.details.cause : undefined;
  return cause === 'full' || cause === 'not-writable' || cause === 'disk-fault' ? REMEDY[cause] : undefined;
}

/**
 * Converts an error of SQLite or the file system to STORAGE_FAILED with a remedy. `details.cause` is then full, not-writable, damaged,
 * in-use, disk-fault or no-file. Returns any other error unchanged.
 */
export function toStorageError(thrown: unknown, path: string): unknown {
  const cause = causeOf(thrown);
  if (cause === undefined || thrown instanceof AtmoError) return thrown;
  return new AtmoError('STORAGE_FAILED', `${path}: ${REMEDY[cause]} (${reasonOf(thrown)})`, { path, cause }, { cause: thrown });
}

/** Returns the message of an error, for warnings. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Runs asynchronous work like `guardStorage`. */
export async function guardStorageAsync<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error, path);
  }
}

/** Runs `work` on the file at `path`; converts errors of SQLite and the file system to STORAGE_FAILED. */
export function guardStorage<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw toStorageError(error, path);
  }
}

/** Returns the cause of an error of SQLite or the file system, such as `full`. Returns undefined for any other error. */
export function causeOf(thrown: unknown): Cause | undefined {
  if (thrown instanceof AtmoError) return thrown.details.cause === 'damaged' ? 'damaged' : undefined;
  if (!(thrown instanceof Error)) return undefined;
  if ('errcode' in thrown && typeof thrown.errcode === 'number')
    return thrown.errcode === IOERR_SHMSIZE ? 'full' : BY_SQLITE[thrown.errcode & 0xff];
  if ('code' in thrown && typeof thrown.code === 'string') return BY_ERRNO[thrown.code];
  return undefined;
}
