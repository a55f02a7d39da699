import { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../../core/errors.ts';
import { COLLECTION_FORMAT, COLLECTION_SCHEMA } from './collection-schema.ts';

/** A text of a thousand characters with the longest vector that models make, and the page around it. */
const BYTES_A_PART = 24_576;
/** Tables and indexes take pages before there is anything in them. */
const EMPTY_BYTES = 1_048_576;
const PAGE_BYTES = 4_096;

/** Opens the file, checks it and makes its tables where it is new. STORAGE_FAILED says what to do. */
export function openCollectionFile(path: string, maxParts: number): DatabaseSync {
  return guarded(path, () => {
    const database = new DatabaseSync(path);
    try {
      database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -2000`);
      database.exec(`PRAGMA max_page_count = ${Math.ceil((EMPTY_BYTES + maxParts * BYTES_A_PART) / PAGE_BYTES)}; PRAGMA foreign_keys = ON`);
      const finding = String(database.prepare('PRAGMA quick_check(1)').get()?.quick_check);
      if (finding !== 'ok')
        throw failed(path, `it is damaged (${finding}); put a backup back, or move it away and add the documents again`);
      migrate(database, path);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** How many changes a file has seen. */
export function generationOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA application_id').get()?.application_id);
}

/** Counts a change, in the header of the file. To be run inside its transaction. */
export function nextGeneration(database: DatabaseSync): number {
  const generation = generationOf(database) + 1;
  database.exec(`PRAGMA application_id = ${generation}`);
  return generation;
}

/** Runs work on the file; what SQLite throws becomes STORAGE_FAILED. */
export function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error) || !('errcode' in error)) throw error;
    throw failed(path, `it cannot be read or written (${error.message}); is there space, and does the folder belong to the hub's user?`);
  }
}

function migrate(database: DatabaseSync, path: string): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version === COLLECTION_FORMAT) return;
  if (version > COLLECTION_FORMAT) throw failed(path, 'a newer atmosphere-edge has written it; install that version again');
  database.exec(`BEGIN IMMEDIATE; ${COLLECTION_SCHEMA} PRAGMA user_version = ${COLLECTION_FORMAT}; COMMIT`);
}

function failed(path: string, reason: string): AtmoError {
  return new AtmoError('STORAGE_FAILED', `${path}: ${reason}`, { path });
}
