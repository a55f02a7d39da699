import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Draw } from './draw.ts';

const PAGE_BYTES = 4096;
/** The header of a write-ahead log, and that of a frame in it (SQLite file format, 4.1). */
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Place of nBackfill in the index of a write-ahead log: the number of frames that are in the database already (SQLite, wal.c). */
const BACKFILL_OFFSET = 96;
/** Larger files are copies of databases, which are synced before they get their name. */
const MAX_TRACKED_BYTES = 262_144;
/** Value of PRAGMA synchronous with which SQLite syncs the write-ahead log at each commit. */
const FULL = 2;

/** What a write-ahead log had when it was synced last. */
interface SyncedLog {
  readonly header: string;
  readonly bytes: number;
}

/**
 * Knows which writes of a process have been synced. At a power cut it takes back some of those that have not: the pages of a file are
 * old or new, each by chance; a new name may be missing; the end of a write-ahead log is cut. What SQLite syncs itself is not seen. It
 * syncs the log at each commit if `synchronous` is FULL, and otherwise before its frames are copied to the database.
 */
export class UnsyncedWrites {
  readonly #durable = new Map<string, Buffer>();
  /** Write-ahead logs by their inode, since SQLite has a name of its own for a database. */
  readonly #logs = new Map<number, SyncedLog>();
  /** Contents of names that were replaced since their folder was synced; undefined for a new name. */
  readonly #replaced = new Map<string, Buffer | undefined>();

  /** What is in the folder when the process starts counts as synced. */
  constructor(folder: string) {
    for (const path of trackedFiles(folder)) this.#durable.set(path, readFileSync(path));
  }

  /** The file or folder at a path is synced, which a process may have open. */
  synced(path: string, descriptor?: number): void {
    const found = descriptor === undefined ? statSync(path, { throwIfNoEntry: false }) : fstatSync(descriptor);
    // What has no name any more is gone after a power cut.
    if (!found || found.nlink === 0) return;
    if (found.isDirectory()) {
      for (const name of this.#replaced.keys()) if (dirname(name) === path) this.#replaced.delete(name);
    } else if (path.endsWith('-wal')) this.#logs.set(found.ino, logOf(path, descriptor));
    else if (isTracked(path)) this.#durable.set(path, readFileSync(path));
  }

  /** Has to be called before the rename. */
  renames(from: string, to: string): void {
    if (!this.#replaced.has(to) && isTracked(from)) this.#replaced.set(to, this.#durable.get(to));
    const content = this.#durable.get(from);
    if (content) this.#durable.set(to, content);
    this.#durable.delete(from);
  }

  /** Takes back what a power cut may take, before the files are copied. `databases` are those that the process has open. */
  lose(folder: string, databases: Iterable<DatabaseSync>, draw: Draw): void {
    for (const database of databases) this.#loseFrames(database, draw);
    for (const path of trackedFiles(folder)) this.#loseContent(path, draw);
  }

  #loseContent(path: string, draw: Draw): void {
    if (this.#replaced.has(path) && draw.chance(0.5)) {
      const before = this.#replaced.get(path);
      if (before) writeFileSync(path, before);
      else rmSync(path);
      return;
    }
    const [old, present] = [this.#durable.get(path) ?? Buffer.alloc(0), readFileSync(path)];
    if (!old.equals(present)) writeFileSync(path, mixed(old, present, draw));
  }

  #loseFrames(database: DatabaseSync, draw: Draw): void {
    const path = database.location();
    const log = `${path}-wal`;
    if (path === null || !existsSync(log) || statSync(log).size <= WAL_HEADER_BYTES) return;
    if (Number(database.prepare('PRAGMA synchronous').get()?.synchronous) >= FULL) return;
    const frameBytes = FRAME_HEADER_BYTES + Number(database.prepare('PRAGMA page_size').get()?.page_size);
    const present = logOf(log);
    const known = this.#logs.get(statSync(log).ino);
    const synced = known?.header === present.header ? known.bytes : WAL_HEADER_BYTES;
    const least = Math.max(synced, WAL_HEADER_BYTES + backfilledFrames(`${path}-shm`) * frameBytes);
    if (present.bytes > least && draw.chance(0.7)) truncateSync(log, Math.ceil(draw.between(least, present.bytes)));
  }
}

/** Pages of the old and of the new content, each by chance. Of a file that was empty, a part from its begin, as ext4 orders data and length. */
function mixed(old: Buffer, present: Buffer, draw: Draw): Buffer {
  if (old.length === 0) return present.subarray(0, Math.ceil(draw.between(0, present.length)));
  const length = draw.chance(0.5) ? old.length : present.length;
  const pages: Buffer[] = [];
  for (let at = 0; at < length; at += PAGE_BYTES) {
    const page = Buffer.alloc(Math.min(PAGE_BYTES, length - at));
    (draw.chance(0.5) ? old : present).subarray(at, at + PAGE_BYTES).copy(page);
    pages.push(page);
  }
  return Buffer.concat(pages);
}

function logOf(path: string, descriptor?: number): SyncedLog {
  const opened = descriptor ?? openSync(path, 'r');
  const header = Buffer.alloc(WAL_HEADER_BYTES);
  readSync(opened, header, 0, WAL_HEADER_BYTES, 0);
  const bytes = fstatSync(opened).size;
  if (descriptor === undefined) closeSync(opened);
  return { header: header.toString('hex'), bytes };
}

function backfilledFrames(path: string): number {
  const index = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  if (index.length < BACKFILL_OFFSET + 4) return 0;
  return new DataView(index.buffer, index.byteOffset).getUint32(BACKFILL_OFFSET, true);
}

function trackedFiles(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  return entries
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(isTracked)
    .toSorted();
}

/** Returns whether the file is written by the hub itself, and not by SQLite. */
function isTracked(path: string): boolean {
  const name = basename(path);
  return !/\.(db|snapshot)(-wal|-shm|-journal)?$/.test(name) && existsSync(path) && statSync(path).size <= MAX_TRACKED_BYTES;
}
