import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AtmoError, systemCode } from '../errors.ts';

/** Ids of a user and of the user's group. */
export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Takes the rights of a user for the whole process, without root's groups. Returns a function that gives them back. New files then belong to
 * the user, and a symbolic link cannot lead to a file that the user may not open. Without ids, or on Windows, the rights stay as they are.
 */
function takeRights(ids: UserIds | undefined): () => void {
  const { geteuid, getegid, getgroups, setegid, seteuid, setgroups } = process;
  if (!ids || !geteuid || !getegid || !getgroups || !setegid || !seteuid || !setgroups) return () => {};
  const { uid, gid } = ids;
  const before = { uid: geteuid(), gid: getegid(), groups: getgroups() };
  const giveBack = () => {
    seteuid(before.uid);
    setegid(before.gid);
    setgroups(before.groups);
  };
  try {
    setgroups([gid]);
    setegid(gid);
    seteuid(uid);
  } catch (error) {
    giveBack();
    throw error;
  }
  return giveBack;
}

/**
 * Runs `work` with the rights of a user; with those of this process if `ids` is undefined. `work` must be synchronous, since the rights are
 * those of the whole process: other code would run with them while `work` waits.
 */
export function asUser<Result>(ids: UserIds | undefined, work: () => Result): Result {
  const giveBack = takeRights(ids);
  try {
    return work();
  } finally {
    giveBack();
  }
}

/**
 * If this process is root, runs `work` as the owner of `path`. Otherwise root would own new files, and the hub could not read them. The rights
 * last while `work` waits, so only a command that does nothing else at the same time may call this; a running hub must not.
 */
export async function runAsOwnerOf<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const giveBack = takeRights(foreignOwnerOf(path));
  try {
    return await work();
  } finally {
    giveBack();
  }
}

/** Returns the owner of a path if this process is root and the owner is somebody else. */
function foreignOwnerOf(path: string): UserIds | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = statSync(path, { throwIfNoEntry: false });
  return owner && owner.uid !== 0 ? owner : undefined;
}

/**
 * Returns whether root may trust a folder that an environment variable names: sudo may have kept the variable of another user. For one that
 * does not exist, the nearest folder above it counts.
 */
export function isOwnFolder(path: string): boolean {
  const above = dirname(path);
  return existsSync(path) || above === path ? foreignOwnerOf(path) === undefined : isOwnFolder(above);
}

/** Maximum size of a key, token or certificate in bytes. */
const MAX_BYTES = 64 * 1024;
/** Windows has neither flag. */
const { O_NOFOLLOW: NO_LINK = 0, O_NONBLOCK: NO_WAIT = 0 } = constants;

/**
 * Returns the text of a small file. If this process is root and `folder` belongs to another user, who could put a link or a pipe in the
 * place of the file, it is read with the rights of that user, and only if it is that user's file itself. Throws STORAGE_FAILED if it
 * is no such file or is too large, and the errors of the file system.
 */
export function readSmallFile(path: string, folder = dirname(path)): string {
  const owner = foreignOwnerOf(folder);
  return asUser(owner, () => {
    // In a folder of this user, a link is one that this user has put there.
    const descriptor = openWithoutWait(path, owner === undefined ? 0 : NO_LINK);
    try {
      const { size, uid, ...found } = fstatSync(descriptor);
      const isFile = (found.mode & constants.S_IFMT) === constants.S_IFREG;
      if (!isFile || size > MAX_BYTES || (owner !== undefined && uid !== owner.uid)) throw notPlain(path);
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  });
}

/** Opens a file with further flags of open(2). Without O_NONBLOCK, a pipe in the place of the file would keep the command waiting. */
function openWithoutWait(path: string, flags: number): number {
  try {
    return openSync(path, constants.O_RDONLY | NO_WAIT | flags);
  } catch (cause) {
    throw systemCode(cause) === 'ELOOP' ? notPlain(path) : cause;
  }
}

function notPlain(path: string): AtmoError {
  const message = `${path} is not read: it has to be a file of at most ${MAX_BYTES} bytes, no link, and to belong to the owner of its folder`;
  return new AtmoError('STORAGE_FAILED', message, { path });
}
