import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { attemptWrite, replaceFile, syncPath } from '../core/files/file-system.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { ASIDE_PREFIX, RESTORE_FOLDER, RESTORE_MARKER, RESTORE_NAMES } from './state-directory.ts';
import { guardStorage } from './storage-error.ts';

interface Marker {
  /** `aside`: the old files are being moved away. `place`: the unpacked files are being moved in. */
  readonly step: 'aside' | 'place';
  /** Folder for the old files. */
  readonly aside: string;
}

/**
 * Replaces the state by the files in `restore.new`. Returns the folder with the old files, or undefined if there were none. If a crash
 * interrupts the moves, `finishRestore` completes the restore later. The caller must hold the lock of the directory.
 */
export function moveRestoreIntoPlace(stateDir: string, nowText: string): string | undefined {
  const aside = `${ASIDE_PREFIX}${nowText.replaceAll(':', '')}`;
  try {
    guardStorage(stateDir, () => {
      syncFolders(join(stateDir, RESTORE_FOLDER));
      mark(stateDir, { step: 'aside', aside });
    });
    finishRestore(stateDir);
  } catch (error) {
    throw existsSync(join(stateDir, RESTORE_MARKER)) ? unfinished(error) : error;
  }
  return existsSync(join(stateDir, aside)) ? aside : undefined;
}

/** Completes a restore that was interrupted while it moved files; otherwise does nothing. Throws STORAGE_FAILED if the disk refuses. */
export function finishRestore(stateDir: string): void {
  guardStorage(stateDir, () => {
    const marker = readMarker(stateDir);
    if (!marker) return;
    if (marker.step === 'aside') {
      moveAside(stateDir, marker.aside);
      mark(stateDir, { ...marker, step: 'place' });
    }
    moveIn(stateDir);
    rmSync(join(stateDir, RESTORE_MARKER));
    // A failed sync is ignored. If a power cut then brings the marker back, the next start finds no file that is left to move.
    attemptWrite(() => syncPath(stateDir));
  });
}

/** Removes the unpacked files of a restore, unless it has begun to move files. What cannot be deleted now is removed at a later start. */
export function removeUnpackedRestore(stateDir: string): void {
  if (existsSync(join(stateDir, RESTORE_MARKER))) return;
  attemptWrite(() => {
    for (const name of [RESTORE_FOLDER, `${RESTORE_MARKER}.partial`]) rmSync(join(stateDir, name), { recursive: true, force: true });
  });
}

/** Syncs a folder and all folders below it. The files in them are already synced. */
function syncFolders(folder: string): void {
  if (!existsSync(folder)) return;
  syncPath(folder);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) if (entry.isDirectory()) syncPath(join(entry.parentPath, entry.name));
}

function unfinished(cause: unknown): unknown {
  if (!(cause instanceof AtmoError)) return cause;
  const message = `The backup is unpacked and counts; the next start of the hub, or another restore, puts the rest of it in its place: ${cause.message}`;
  return new AtmoError(cause.code, message, cause.details, { cause });
}

function moveAside(stateDir: string, aside: string): void {
  const old = readdirSync(stateDir).filter((name) => !RESTORE_NAMES.test(name));
  if (old.length === 0) return;
  mkdirSync(join(stateDir, aside), { recursive: true, mode: 0o700 });
  for (const name of old) {
    // If `name` is also in `aside`, an earlier attempt moved it. An interrupted start then made an empty folder `name`, which is removed.
    if (existsSync(join(stateDir, aside, name))) rmdirSync(join(stateDir, name));
    else renameSync(join(stateDir, name), join(stateDir, aside, name));
  }
  syncPath(join(stateDir, aside));
  syncPath(stateDir);
}

function moveIn(stateDir: string): void {
  const folder = join(stateDir, RESTORE_FOLDER);
  if (!existsSync(folder)) return;
  // An interrupted start may have made empty folders with these names. Renaming replaces them.
  for (const name of readdirSync(folder)) renameSync(join(folder, name), join(stateDir, name));
  rmSync(folder, { recursive: true });
  syncPath(stateDir);
}

function mark(stateDir: string, marker: Marker): void {
  replaceFile(join(stateDir, RESTORE_MARKER), JSON.stringify(marker));
}

/** Reads the marker. It is always complete, because it was created by a rename. */
function readMarker(stateDir: string): Marker | undefined {
  const path = join(stateDir, RESTORE_MARKER);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Marker) : undefined;
}

const SPACE = 'journal';
const KEY = 'restored';

/** Stores a note for the next start: the state comes from a backup. Times are in ISO 8601. Throws STORAGE_FAILED if the disk refuses. */
export function writeRestoreNote(store: KeyValueStore, note: { readonly madeAt: string; readonly restoredAt: string }): void {
  store.set(SPACE, KEY, { made_at: note.madeAt, restored_at: note.restoredAt });
}

/** Returns and deletes the note about a restore; undefined if there is none. */
export function takeRestoreNote(store: KeyValueStore): JsonObject | undefined {
  const note = store.get(SPACE, KEY);
  if (!isJsonObject(note)) return undefined;
  store.delete(SPACE, KEY);
  return note;
}
