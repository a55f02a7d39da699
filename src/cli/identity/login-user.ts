import { execFileSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { AtmoError } from '../../core/errors.ts';
import type { CliIo } from '../cli-io.ts';
import { homeOf } from '../login-file.ts';

/** By its full path: this runs as root. */
const GETENT = '/usr/bin/getent';

/** The user of the machine who logs in: behind sudo, the one who typed it. */
export interface LoginUser {
  readonly name: string;
  readonly home: string;
  /** Present where files have to be written as this user and not as who runs. */
  readonly ids?: { readonly uid: number; readonly gid: number };
}

/** `lookUp` answers the line of a user id in the user database (passwd(5)). */
export function loginUser(env: CliIo['env'], lookUp: (uid: string) => string = passwdLine): LoginUser {
  const { SUDO_UID: uid, SUDO_GID: gid, SUDO_USER: name } = env;
  if (process.geteuid?.() !== 0 || uid === undefined || gid === undefined || name === undefined || uid === '0') {
    return { name: env.USER || userInfo().username, home: homeOf(env) };
  }
  const home = lookUp(uid).trim().split(':')[5];
  if (!home || !/^\d+$/.test(`${uid}${gid}`)) throw new AtmoError('NOT_FOUND', `The home directory of ${name} (user ${uid}) is not known`);
  return { name, home, ids: { uid: Number(uid), gid: Number(gid) } };
}

/**
 * Runs what touches the user's files with the user's rights: what is made belongs to the user, and a link in the home
 * directory leads nowhere that the user could not go. Only for work that does not wait: rights are the process's.
 */
export function asUser<Result>({ ids }: LoginUser, work: () => Result): Result {
  if (!ids) return work();
  const before = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
  process.setegid?.(ids.gid);
  try {
    process.seteuid?.(ids.uid);
    return work();
  } finally {
    process.seteuid?.(before.uid);
    process.setegid?.(before.gid);
  }
}

function passwdLine(uid: string): string {
  try {
    return execFileSync(GETENT, ['passwd', uid], { encoding: 'utf8', timeout: 5_000 });
  } catch (cause) {
    throw new AtmoError('NOT_FOUND', `User ${uid} is not in the user database of this machine`, {}, { cause });
  }
}
