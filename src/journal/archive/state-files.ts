import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** What a hub keeps, by paths below its state directory with `/`. */
export interface StateFiles {
  readonly databases: readonly string[];
  readonly others: readonly string[];
}

/** Folder in which a restore unpacks. */
export const RESTORE_FOLDER = 'restore.new';
/** File that is there while a restore puts files in their places. */
export const RESTORE_MARKER = 'restore.pending';
/** Beginning of the name of a folder with what a restore replaced. */
export const ASIDE_PREFIX = 'before-restore-';
/** What a restore itself works with, of the names in a state directory: never moved, and in no backup. */
export const OF_RESTORE = /^(lock\.db|restore\.|before-restore-)/;
/** Journal lines that are not in audit.db yet. */
export const AUDIT_FRONT = 'audit.front';

const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  'snapshots',
  'tls/snapshots',
  'matter/snapshots',
  'matter/quarantine',
  RESTORE_FOLDER,
]);
/** The lock, what anchors the files as they lie here, what belongs to an open database, what was put aside, and halves of files. */
const SKIPPED_FILES =
  /^(lock\.db|restore\.pending|anchors$|trust\.log$)|(-wal|-shm|-journal|\.partial|\.part|\.tmp|\.new)$|\.corrupt-|\.damaged-|(^|\/)matter\.(pid|lock)$/;

/** Every file that a backup has to hold, in the order of the paths. Links are left out: they lead elsewhere. */
export function stateFiles(stateDir: string): StateFiles {
  const paths = [...filesBelow(stateDir, '')].sort();
  const isDatabase = (path: string) => path.endsWith('.db');
  return { databases: paths.filter(isDatabase), others: paths.filter((path) => !isDatabase(path)) };
}

function* filesBelow(stateDir: string, folder: string): Generator<string> {
  for (const entry of readdirSync(join(stateDir, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(path) && !path.startsWith(ASIDE_PREFIX)) yield* filesBelow(stateDir, path);
    if (entry.isFile() && !SKIPPED_FILES.test(path)) yield path;
  }
}
