import { execFileSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { isExecutable } from '../../../scripts/installed-program.ts';

const OLDEST = 20;
const NEWEST = 23;
const USUAL_FOLDERS = ['/usr/local/bin', '/usr/bin'];

export const OLDER_NODE_HINT = 'no Node 20 to 23 with npm is on the PATH: install one, or name its program in ATMO_OLDER_NODE';

/** Folder with a Node that is older than that of the hub, and its npm; undefined where this machine has none. ATMO_OLDER_NODE names one. */
export function olderNodeFolder(): string | undefined {
  const { ATMO_OLDER_NODE: given, PATH = '' } = process.env;
  const folders = given === undefined ? [...PATH.split(delimiter), ...USUAL_FOLDERS] : [dirname(given)];
  return folders.find((folder) => isExecutable(join(folder, 'npm')) && isOlder(join(folder, 'node')));
}

function isOlder(program: string): boolean {
  if (!isExecutable(program)) return false;
  const major = Number(/^v(\d+)\./.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1]);
  return major >= OLDEST && major <= NEWEST;
}
