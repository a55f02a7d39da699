import { accessSync, chmodSync, constants, existsSync, lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { makePrivateFolder } from '../core/files/file-system.ts';
import type { Logger } from '../core/logger.ts';
import { guardStorage } from './storage-error.ts';

/** The folders of a hub's durable state, which only its user may open. */
export interface StateDirectory {
  /** Holds the databases and the owner's token. */
  readonly root: string;
  /** matter.js's storage: the fabric and its keys. */
  readonly matter: string;
  /** Copies of the databases. */
  readonly snapshots: string;
}

/** The state directory of a hub that runs as a service (FHS 3.0 §5.8). */
export const SYSTEM_STATE_DIRECTORY = '/var/lib/atmosphere-edge';

/** ATMO_STATE_DIR, else /var/lib/atmosphere-edge if this user can write it, else ~/.local/state/atmosphere-edge. */
export function defaultStateDirectory(env: NodeJS.ProcessEnv, system = SYSTEM_STATE_DIRECTORY): string {
  if (env.ATMO_STATE_DIR) return resolve(env.ATMO_STATE_DIR);
  if (isWritable(existsSync(system) ? system : dirname(system))) return system;
  return join(env.HOME ?? homedir(), '.local/state/atmosphere-edge');
}

/**
 * Makes the directory and its folders with mode 0700, and removes the permissions of group and others from present ones. Throws
 * STORAGE_FAILED when it cannot be made, is no directory, or belongs to another user.
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
  logger.warn('state_directory_closed', { folder, modeBefore: (stat.mode & 0o777).toString(8), mode: '700' });
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
