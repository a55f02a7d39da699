import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';

/** Where a path leads once its symbolic links are followed; what is not there, or may not be looked at, is taken by its name. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
