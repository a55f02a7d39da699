import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AtmoError } from '../core/errors.ts';

const WRITABLE_BY_OTHERS = 0o022;

/**
 * The real path of a file whose code may be loaded: file and folder belong to `uid` (the service's user) or root, and
 * nobody else can write them. CONFIG_INVALID says which does not, and what to do.
 */
export function trustedPath(path: string, uid: number): string {
  const real = realPathOf(path);
  for (const place of [dirname(real), real]) {
    const stat = statSync(place);
    if (stat.uid !== uid && stat.uid !== 0) {
      throw new AtmoError('CONFIG_INVALID', `${place} belongs to user ${stat.uid}; only code of user ${uid} or root is loaded: chown it`);
    }
    if ((stat.mode & WRITABLE_BY_OTHERS) !== 0) {
      throw new AtmoError('CONFIG_INVALID', `${place} can be written by others; run chmod go-w ${JSON.stringify(place)}`);
    }
  }
  return real;
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    throw new AtmoError('CONFIG_INVALID', `There is no file ${path}`);
  }
}
