import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { attemptWrite, replaceFile, syncPath } from '../core/files/file-system.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { ASIDE_PREFIX, RESTORE_FOLDER, RESTORE_MARKER, RESTORE_NAMES } from './state-files.ts';
import { guardStorage } from './storage-error.ts';

/** `aside`: what was there is moved away. `place`: what was unpacked is moved in. */
type Step = 'aside' | 'place';

interface Marker {
  readonly step: Step;
  /** Folder for what was there. */
  readonly aside: string;
}

/**
 * Puts what lies unpacked in `restore.new` in the place of the state, and that, if there is any, into a folder whose name it answers.
 * From here on the restore counts: a crash on the way is made good by `finishRestore`. The lock of the directory must be held.
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

/** Goes on with a restore that was interrupted while it put files in their places; does nothing otherwise. STORAGE_FAILED. */
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
    // Were the marker to come back, there would be nothing left to do.
    attemptWrite(() => syncPath(stateDir));
  });
}

/** Removes what a restore unpacked and did not place; what a disk does not let go now goes at a later start. */
export function removeUnpackedRestore(stateDir: string): void {
  if (existsSync(join(stateDir, RESTORE_MARKER))) return;
  attemptWrite(() => {
    for (const name of [RESTORE_FOLDER, `${RESTORE_MARKER}.partial`]) rmSync(join(stateDir, name), { recursive: true, force: true });
  });
}

/** The files are on the disk by themselves; which of them there are their folders say. */
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
    // It was moved before the crash; what is there now is the empty folder of a start that came to this point and no further.
    if (existsSync(join(stateDir, aside, name))) rmdirSync(join(stateDir, name));
    else renameSync(join(stateDir, name), join(stateDir, aside, name));
  }
  syncPath(join(stateDir, aside));
  syncPath(stateDir);
}

function moveIn(stateDir: string): void {
  const folder = join(stateDir, RESTORE_FOLDER);
  if (!existsSync(folder)) return;
  // A start that found the restore unfinished may have made empty folders of the same names: rename takes their place.
  for (const name of readdirSync(folder)) renameSync(join(folder, name), join(stateDir, name));
  rmSync(folder, { recursive: true });
  syncPath(stateDir);
}

function mark(stateDir: string, marker: Marker): void {
  replaceFile(join(stateDir, RESTORE_MARKER), JSON.stringify(marker));
}

/** It was renamed into its place whole, so what is there is as it was written. */
function readMarker(stateDir: string): Marker | undefined {
  const path = join(stateDir, RESTORE_MARKER);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Marker) : undefined;
}

const SPACE = 'journal';
const KEY = 'restored';

/** Lets the next start know that its state comes from a backup. Times in ISO 8601. STORAGE_FAILED. */
export function writeRestoreNote(store: KeyValueStore, note: { readonly madeAt: string; readonly restoredAt: string }): void {
  store.set(SPACE, KEY, { made_at: note.madeAt, restored_at: note.restoredAt });
}

/** When the backup was made and put back, told once; undefined otherwise. */
export function takeRestoreNote(store: KeyValueStore): JsonObject | undefined {
  const note = store.get(SPACE, KEY);
  if (!isJsonObject(note)) return undefined;
  store.delete(SPACE, KEY);
  return note;
}
