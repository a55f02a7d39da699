import { realpathSync, type Stats, statSync } from 'node:fs';
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
    // Others may add to a sticky folder such as /tmp, but not replace what is ours in it.
    const isSticky = place !== real && place !== dirname(real) && (statSync(place).mode & STICKY) !== 0;
    requireOwn(place, statSync(place), isSticky ? { uid, isSticky } : { uid });
  }
  return real;
}

/** CONFIG_INVALID for what belongs to another user than `uid` and root, or can be written by others; a link is what it leads to. */
export function requireOwn(
  place: string,
  stat: Pick<Stats, 'uid' | 'mode' | 'isSymbolicLink'>,
  { uid, isSticky = false }: { readonly uid: number; readonly isSticky?: boolean },
): void {
  if (stat.uid !== uid && stat.uid !== 0) {
    throw new AtmoError('CONFIG_INVALID', `${place} belongs to user ${stat.uid}; only code of user ${uid} or root is loaded: chown it`);
  }
  if ((stat.mode & WRITABLE_BY_OTHERS) !== 0 && !isSticky && !stat.isSymbolicLink()) {
    throw new AtmoError('CONFIG_INVALID', `${place} can be written by others; run chmod go-w ${JSON.stringify(place)}`);
  }
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
