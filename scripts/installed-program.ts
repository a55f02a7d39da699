import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of the first of these programs that is in a folder of PATH or in one of `folders`; undefined where none is. */
export function installedProgram(names: readonly string[], folders: readonly string[]): string | undefined {
  const all = [...(process.env.PATH ?? '').split(delimiter), ...folders];
  return all.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

/** Whether this user may run the file. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
