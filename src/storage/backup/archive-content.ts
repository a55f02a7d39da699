import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { objectOf, tryParseJson } from '../../core/json.ts';
import { RESTORE_NAMES } from '../state-directory.ts';
import { ByteQueue } from './archive-encryption.ts';

const LENGTH_BYTES = 4;
const MAX_TABLE_BYTES = 8 * 1_048_576;
const PIECE_BYTES = 262_144;

/** A file for an archive, open for reading. */
export interface ArchiveSource extends ArchiveEntry {
  readonly handle: FileHandle;
}

/** Yields the plain content of an archive: length of the table (4 bytes, big-endian), the table, then the files one after the other. */
export async function* archiveContent(head: Omit<ArchiveTable, 'entries'>, sources: readonly ArchiveSource[]): AsyncGenerator<Uint8Array> {
  const table = Buffer.from(tableText({ ...head, entries: sources }), 'utf8');
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(table.length);
  yield Buffer.concat([length, table]);
  for (const source of sources) yield* bytesOf(source);
}

async function* bytesOf({ handle, bytes, path }: ArchiveSource): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < bytes; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, bytes - done));
    const { bytesRead } = await handle.read(piece, 0, piece.length, done);
    if (bytesRead === 0) throw new AtmoError('CONFLICT', `${path} became shorter while it was read; make the backup again`);
    yield piece.subarray(0, bytesRead);
    done += bytesRead;
  }
}

/**
 * Writes the files of an archive below `directory` and syncs each file. Modes are 0600, or 0700 for executables. First calls `accept` with
 * the table. If the content is not from `archiveContent`, throws VALIDATION_ERROR; files that are already written stay.
 */
export async function unpackContent(
  content: AsyncIterable<Uint8Array>,
  directory: string,
  accept: (table: ArchiveTable) => void,
): Promise<ArchiveTable> {
  const queue = new ByteQueue(content);
  const length = await queue.take(LENGTH_BYTES);
  const tableBytes = length.length === LENGTH_BYTES ? length.readUInt32BE() : 0;
  if (tableBytes === 0 || tableBytes > MAX_TABLE_BYTES) throw unusableBackup('it ends before its table does');
  const table = parseTable((await queue.take(tableBytes)).toString('utf8'));
  accept(table);
  for (const entry of table.entries) await writeEntry(entry, queue, directory);
  if ((await queue.take(1)).length > 0) throw unusableBackup('more follows after its last file');
  return table;
}

async function writeEntry({ path, bytes, isExecutable }: ArchiveEntry, queue: ByteQueue, directory: string): Promise<void> {
  const target = join(directory, path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await using file = await open(target, 'wx', isExecutable ? 0o700 : 0o600);
  for (let done = 0; done < bytes; ) {
    const piece = await queue.take(Math.min(PIECE_BYTES, bytes - done));
    if (piece.length === 0) throw unusableBackup(`it ends before ${path} does`);
    await file.writeFile(piece);
    done += piece.length;
  }
  await file.sync();
}

interface ArchiveEntry {
  /** Path below the state directory, with `/` as separator. For a file outside of it: `outside/` and its absolute path. */
  readonly path: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
}

/** The table at the beginning of an archive: version, hub and time, then the files in the order in which their content follows. */
export interface ArchiveTable {
  readonly version: string;
  readonly hub: string;
  readonly madeAt: string;
  readonly entries: readonly ArchiveEntry[];
}

/** Folder in an archive for files from outside of the state directory. */
export const OUTSIDE = 'outside';
const MAX_ENTRIES = 10_000;
const MAX_PATH_LENGTH = 512;
const SEGMENT = /^(?!\.{1,2}$)[^/\0]{1,255}$/;

/** Returns the table as the JSON text that an archive contains. */
export function tableText({ version, hub, madeAt, entries }: ArchiveTable): string {
  const files = entries.map(({ path, bytes, isExecutable }) => ({ path, bytes, ...(isExecutable && { executable: true }) }));
  return JSON.stringify({ version, hub, made_at: madeAt, files });
}

/** Parses an archive's table. Throws VALIDATION_ERROR if it is malformed, or if a path leaves the directory or matches RESTORE_NAMES. */
export function parseTable(text: string): ArchiveTable {
  const { version, hub, made_at: madeAt, files } = objectOf(tryParseJson(text));
  if (typeof version !== 'string' || typeof hub !== 'string' || typeof madeAt !== 'string')
    throw unusableBackup('its table does not name hub, version and time');
  if (!Array.isArray(files) || files.length > MAX_ENTRIES) throw unusableBackup(`it has no list of at most ${MAX_ENTRIES} files`);
  const entries = files.map(entryOf);
  if (new Set(entries.map(({ path }) => path)).size < entries.length) throw unusableBackup('a file is in it twice');
  return { version, hub, madeAt, entries };
}

function entryOf(value: unknown): ArchiveEntry {
  const { path, bytes, executable } = objectOf(value);
  if (typeof path !== 'string' || path.length > MAX_PATH_LENGTH || !path.split('/').every((segment) => SEGMENT.test(segment))) {
    throw unusableBackup(`${JSON.stringify(path)} is no path of a file`);
  }
  // The next start of the hub would take such a file for part of an interrupted restore, and could move other folders.
  if (RESTORE_NAMES.test(path)) throw unusableBackup(`${path} belongs to a restore, and to no backup`);
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) throw unusableBackup(`${path} has no size`);
  return { path, bytes, isExecutable: executable === true };
}

/** Returns the VALIDATION_ERROR for an archive that is damaged or that no hub wrote. */
export function unusableBackup(why: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The backup cannot be used: ${why}; take another one`);
}
