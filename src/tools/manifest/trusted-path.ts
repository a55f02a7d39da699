import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AtmoError } from '../../core/errors.ts';

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * The real path of a file that decides which code is loaded: it and every folder above it belong to `uid` (the service's
 * user) or root, and nobody else can write them. CONFIG_INVALID says which does not, and what to do.
 */
export function trustedPath(path: string, uid: number): string {
  const real = realPathOf(path);
  for (const place of [real, ...foldersAbove(real)]) {
    const stat = statSync(place);
    if (stat.uid !== uid && stat.uid !== 0) {
      throw new AtmoError('CONFIG_INVALID', `${place} belongs to user ${stat.uid}; only code of user ${uid} or root is loaded: chown it`);
    }
    // Others may add to a sticky folder such as /tmp, but not replace what is ours in it.
    const isSticky = place !== real && place !== dirname(real) && (stat.mode & STICKY) !== 0;
    if ((stat.mode & WRITABLE_BY_OTHERS) !== 0 && !isSticky) {
      throw new AtmoError('CONFIG_INVALID', `${place} can be written by others; run chmod go-w ${JSON.stringify(place)}`);
    }
  }
  return real;
}

/** Who can write one of them can put another folder in place of the next. */
function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...foldersAbove(parent)];
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    throw new AtmoError('CONFIG_INVALID', `There is no file ${path}`);
  }
}
