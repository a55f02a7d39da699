import { AtmoError } from '../../core/errors.ts';
import { isWithin } from '../../core/is-within.ts';

/** Where machines keep accounts, keys, devices and programs that run (source 004: /etc/passwd and the like). */
const CLOSED = ['/boot', '/dev', '/etc', '/proc', '/run', '/sys', '/usr', '/var/lib/atmosphere-edge'];
/** Disks that were plugged in are mounted here. */
const OPEN = ['/run/media', '/run/mount'];

/** CONFIG_INVALID for a folder that would give agents the machine, or the hub's own keys. */
export function requireHarmless(name: string, path: string, stateDir: string): void {
  const clean = path.replace(/\/+$/, '');
  const where = `connectors.files.roots.${name}`;
  if (clean === '') throw new AtmoError('CONFIG_INVALID', `${where}: the whole machine is no folder for agents; open one folder of it`);
  if (isWithin(stateDir, clean) || isWithin(clean, stateDir)) {
    throw new AtmoError('CONFIG_INVALID', `${where}: the keys of the hub are in ${stateDir}; open another folder`);
  }
  const closed = CLOSED.find((folder) => isWithin(clean, folder) || isWithin(folder, clean));
  if (closed === undefined || OPEN.some((folder) => isWithin(clean, folder))) return;
  throw new AtmoError('CONFIG_INVALID', `${where}: ${closed} belongs to the system; open another folder`);
}
