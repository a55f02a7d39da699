import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { basename, dirname, posix, win32 } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { replaceFile } from '../../core/files/file-system.ts';
import { isOwnFolder, readSmallFile } from '../../core/files/owner-rights.ts';
import { type JsonObject, objectOf, tryParseJson } from '../../core/json.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Platform = NodeJS.Platform;

const NAME = 'atmosphere-edge';

/**
 * Returns the user's home directory from the environment variables. Root takes its own from the user database where HOME is that of
 * another user, as sudo leaves it on macOS and with -E: that user could lead root's files elsewhere by a link.
 */
export function homeOf(env: Environment): string {
  const named = env.HOME || homedir();
  return isOwnFolder(named) ? named : userInfo().homedir;
}

/** Returns where the logins and keys of the user with this home directory are if no environment variable names another place. */
export function configDirIn(home: string): string {
  return posix.join(home, '.config', NAME);
}

/**
 * Returns the directory with this user's logins and keys. On Windows it is below %LOCALAPPDATA%, which stays on this machine, while %APPDATA%
 * may be copied to others. On Linux a directory in `~/.config` counts before XDG_CONFIG_HOME, so that an earlier login stays valid.
 */
export function configDir(env: Environment, platform: Platform = process.platform): string {
  const home = homeOf(env);
  if (platform === 'win32') return win32.join(env.LOCALAPPDATA || win32.join(env.USERPROFILE || home, 'AppData', 'Local'), NAME);
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', NAME);
  const { XDG_CONFIG_HOME: named = '' } = env;
  const usual = configDirIn(home);
  // The XDG Base Directory Specification says that a path which is not absolute is ignored.
  return posix.isAbsolute(named) && isOwnFolder(named) && !existsSync(usual) ? posix.join(named, NAME) : usual;
}

/** Returns the possible state directories of a hub of this machine, the most likely one first. No hub runs on Windows. */
export function stateDirs(env: Environment, platform: Platform = process.platform): readonly string[] {
  if (env.ATMO_STATE_DIR) return [env.ATMO_STATE_DIR];
  if (platform === 'win32') return [];
  return [posix.join('/var/lib', NAME), posix.join(homeOf(env), '.local/state', NAME)];
}

/** A program to run, with its arguments. */
export type ProgramRun = readonly [program: string, args: readonly string[]];

/**
 * Returns the runs of icacls that let only this user use a directory and what is in it, now and later. The first ends the rights that somebody
 * gave to others in this directory itself, the second those that it got from the one above. Administrators can still take the directory, and
 * programs of the same user can read it.
 */
export function restriction(dir: string, env: Environment, user: string): readonly [ProgramRun, ProgramRun] {
  const icacls = win32.join(env.SystemRoot || 'C:\\Windows', 'System32', 'icacls.exe');
  const account = env.USERDOMAIN ? `${env.USERDOMAIN}\\${user}` : user;
  return [
    [icacls, [dir, '/reset', '/q']],
    [icacls, [dir, '/inheritance:r', '/grant:r', `${account}:(OI)(CI)F`, '/q']],
  ];
}

interface System {
  readonly platform: Platform;
  readonly env: Environment;
  readonly user: () => string;
  readonly run: (program: string, args: readonly string[]) => void;
}

const ICACLS_MS = 10_000;
const THIS_SYSTEM: System = {
  platform: process.platform,
  env: process.env,
  user: () => userInfo().username,
  run: (program, args) => void execFileSync(program, args, { timeout: ICACLS_MS, windowsHide: true, stdio: 'ignore' }),
};

/**
 * Makes a directory for secrets with mode 0700. On Windows, it restricts the whole folder of logins and keys instead, of which the directory is
 * a part. It does so each time: a folder that an earlier version or another program made has inherited the access list of the folder above.
 * Throws STORAGE_FAILED if the folder cannot be restricted.
 */
export function makePrivateDir(dir: string, system: System = THIS_SYSTEM): void {
  const root = system.platform === 'win32' ? folderOfSecrets(dir) : dir;
  const made = mkdirSync(root, { recursive: true, mode: 0o700 });
  if (system.platform !== 'win32') return;
  try {
    restrict(root, system);
  } catch (error) {
    if (made !== undefined) rmSync(root, { recursive: true });
    throw error;
  }
  mkdirSync(dir, { recursive: true });
}

/** Returns the folder of all logins and keys of this user, which `dir` is or lies in. */
function folderOfSecrets(dir: string): string {
  for (let one = dir; dirname(one) !== one; one = dirname(one)) if (basename(one) === NAME) return one;
  return dir;
}

function restrict(dir: string, { env, user, run }: System): void {
  try {
    for (const step of restriction(dir, env, user())) run(...step);
  } catch (cause) {
    const advice = 'see that LOCALAPPDATA is a folder of a local disk (NTFS)';
    throw new AtmoError('STORAGE_FAILED', `Access to ${dir} cannot be restricted to you with icacls; ${advice}`, { path: dir }, { cause });
  }
}

/** Throws STORAGE_FAILED, with the remedy, if other users can read the file. Windows has access lists in place of modes. */
export function requirePrivate(path: string, platform: Platform = process.platform): void {
  if (platform === 'win32') return;
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  throw new AtmoError('STORAGE_FAILED', `${path} can be read by other users (mode ${mode.toString(8)}): run chmod 600 ${path}`, { path });
}

/** Returns the JSON object in a file. If the file is missing or has no such object, returns an empty object, as if nothing were stored. */
export function readJsonFile(path: string): JsonObject {
  try {
    return objectOf(tryParseJson(readSmallFile(path)));
  } catch {
    return {};
  }
}

/** Writes JSON to a file with mode 0600. After a crash the file has the old or the new content. Throws STORAGE_FAILED if writing fails. */
export function writePrivately(path: string, value: object, problem: string): void {
  try {
    makePrivateDir(dirname(path));
    replaceFile(path, `${JSON.stringify(value)}\n`);
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    throw new AtmoError('STORAGE_FAILED', `${problem}; free space or mend its permissions`, { path }, { cause });
  }
}
