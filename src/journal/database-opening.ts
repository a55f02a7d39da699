import { existsSync, renameSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AtmoError } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import type { HubProblems } from '../core/hub-problems.ts';
import type { JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { setAsideUnlessFile, syncPath } from '../core/storage/durable-file.ts';
import type { FileAnchor, FileMark } from '../core/storage/file-anchor.ts';
import type { Clock } from '../core/time/clock.ts';
import { isoTime } from '../core/time/iso-time.ts';
import { type DatabaseForm, openChecked } from './checked-database.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import type { AnchoredFile, StateAnchors } from './state-anchors.ts';
import { guardStorage, isDamage } from './storage-error.ts';

/** What every part of the journal works with. */
export interface JournalCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<EventBus, 'emit'>;
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  /** Those of the same state directory. */
  readonly fileAnchors: Pick<StateAnchors, 'of'>;
}

/** Where copies of a database go, how often one is made, and how many are kept. */
export interface SnapshotPlan {
  readonly directory: string;
  readonly everyMs: number;
  readonly kept: number;
}

/** Form of a database file and what keeps it safe. */
export interface SqliteFileOptions extends DatabaseForm {
  readonly anchor: AnchoredFile;
  /** How far an open file or copy is. Throws STORAGE_FAILED with cause `damaged` when its content is not as it was written. */
  readonly measure: (database: DatabaseSync) => FileMark;
  readonly snapshots: SnapshotPlan;
  /** For a damaged file without a sound snapshot: begin an empty one, or refuse to start. */
  readonly whenLost: 'start-anew' | 'refuse';
}

/** What a start did about a file that was damaged, missing, emptied or older than it had been. */
type Recovery = 'restored' | 'begun-anew' | 'kept-older';

/** A database that a start goes on with. */
export interface Opened {
  readonly database: DatabaseSync;
  /** Absent when the file was sound, or new. */
  readonly recovery?: Recovery;
}

/** A file that a start found and may use. */
interface Found {
  readonly database: DatabaseSync;
  readonly mark: FileMark;
}

const SIDE_FILES = ['-wal', '-shm', '-journal'] as const;

/** Finds what a start may go on with: the file itself, its newest sound copy, or an empty file. */
export class DatabaseOpening {
  readonly #collaborators: JournalCollaborators;
  readonly #options: SqliteFileOptions;
  readonly #folder: SnapshotFolder;
  readonly #anchor: FileAnchor;

  constructor(collaborators: JournalCollaborators, options: SqliteFileOptions, folder: SnapshotFolder) {
    this.#collaborators = collaborators;
    this.#options = options;
    this.#folder = folder;
    this.#anchor = collaborators.fileAnchors.of(options.anchor);
  }

  /** STORAGE_FAILED when the file is lost and must not begin anew. */
  open(): Opened {
    const { path } = this.#options;
    const expected = this.#anchor.least();
    const wasThere = expected !== undefined || this.#folder.list().length > 0;
    const sizeBytes = fileSize(path);
    // SQLite would take an empty file for a new database.
    if (!sizeBytes && wasThere) return this.#recover(sizeBytes === undefined ? 'is missing' : 'is empty');
    try {
      for (const suffix of SIDE_FILES) this.#freePlace(path + suffix);
      const found = this.#openFile();
      const loss = lossOf(found.mark, expected);
      if (loss === undefined) return this.#accept(found);
      if (!loss.isOlder) {
        found.database.close();
        return this.#recover(loss.fault);
      }
      return this.#takeNewest(found, loss.fault);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return this.#recover(error instanceof AtmoError ? String(error.details.finding ?? 'is damaged') : 'is damaged');
    }
  }

  #openFile(): Found {
    const { path, measure } = this.#options;
    if (fileSize(path) === undefined && existsSync(path)) this.#freePlace(path);
    const isNew = !fileSize(path);
    const database = openChecked(this.#options);
    try {
      // Before its anchor says that it is there.
      if (isNew) for (const made of [path, dirname(path)]) syncPath(made);
      return { database, mark: guardStorage(path, () => measure(database)) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #accept({ database, mark }: Found, recovery?: Recovery): Opened {
    this.#anchor.committed(mark);
    if (this.#options.synchronous === 'FULL') this.#anchor.synced(mark);
    return recovery === undefined ? { database } : { database, recovery };
  }

  /** A file that is sound and older than it had been: itself or a copy, whatever is newer. */
  #takeNewest(found: Found, fault: string): Opened {
    const snapshot = this.#folder.newestSound(this.#options.measure);
    if (snapshot && snapshot.mark.generation > found.mark.generation) {
      found.database.close();
      return this.#recover(fault);
    }
    this.#tellLoss('database_older', fault, 'What was written last is lost');
    return this.#accept(found, 'kept-older');
  }

  #recover(fault: string): Opened {
    const { path, whenLost } = this.#options;
    const snapshot = this.#folder.newestSound(this.#options.measure);
    if (!snapshot && whenLost === 'refuse') {
      throw new AtmoError(
        'STORAGE_FAILED',
        `${path} ${fault}, and none of its snapshots is sound. Put your own copy of the state directory back, or move it, its snapshots and the file "anchors" away to begin without what it held`,
        { path, cause: 'lost' },
      );
    }
    const setAside = this.#setAside();
    if (snapshot) this.#folder.restore(snapshot, path);
    const meaning = snapshot ? 'What was written after the snapshot is lost' : 'There was no sound snapshot: the file begins empty';
    this.#tellLoss(snapshot ? 'database_restored' : 'database_lost', fault, meaning, {
      ...(setAside === undefined ? {} : { setAside }),
      ...(snapshot ? { snapshot: snapshot.path, snapshotTaken: isoTime(snapshot.takenMs) } : {}),
    });
    return this.#accept(this.#openFile(), snapshot ? 'restored' : 'begun-anew');
  }

  #tellLoss(warning: string, fault: string, meaning: string, data: JsonObject = {}): void {
    const { path } = this.#options;
    warnOf(this.#collaborators, path, { warning, path, fault, ...data, meaning });
    const from = typeof data.snapshotTaken === 'string' ? `; the copy of ${data.snapshotTaken} is in its place` : '';
    this.#collaborators.problems.raise(this.#options.anchor, `${this.#options.anchor} ${fault}${from}. ${meaning}`);
  }

  /** A log left beside a restored file would be replayed into it, so the side files go with the file. */
  #setAside(): string | undefined {
    const { path } = this.#options;
    const target = `${path}.corrupt-${isoTime(this.#collaborators.clock.now()).replaceAll(':', '')}`;
    const present = ['', ...SIDE_FILES].filter((suffix) => existsSync(path + suffix));
    for (const suffix of present) renameSync(path + suffix, target + suffix);
    return present.length > 0 ? target : undefined;
  }

  /** A folder in the place of a file of SQLite's. */
  #freePlace(path: string): void {
    const aside = setAsideUnlessFile(path);
    if (aside === undefined) return;
    warnOf(this.#collaborators, path, { warning: 'no_file_set_aside', path, aside });
    this.#collaborators.problems.raise(path, `${basename(path)} was no file, and was set aside as ${basename(aside)}`);
  }
}

/** Tells of a file in the log and as the event `hub.warning`. */
export function warnOf(
  { logger, events }: Pick<JournalCollaborators, 'logger' | 'events'>,
  path: string,
  data: JsonObject & { readonly warning: string },
): void {
  logger.error(data.warning, data);
  events.emit('hub.warning', basename(path), data);
}

/** Undefined for what is no file. */
function fileSize(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
}

/** What is wrong with a file that is sound in itself; undefined when nothing is. */
function lossOf(found: FileMark, expected: FileMark | undefined): { readonly fault: string; readonly isOlder: boolean } | undefined {
  if (!expected || found.generation > expected.generation) return undefined;
  if (found.generation < expected.generation) {
    return { fault: `has lost its last ${expected.generation - found.generation} changes`, isOlder: true };
  }
  if (found.digest === expected.digest || found.digest === '' || expected.digest === '') return undefined;
  return { fault: 'does not hold what it held', isOlder: false };
}
