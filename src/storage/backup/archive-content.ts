import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, objectOf, tryParseJson } from '../../core/json.ts';
import { RESTORE_NAMES } from '../state-files.ts';
import { ByteQueue } from './archive-encryption.ts';

const LENGTH_BYTES = 4;
const MAX_TABLE_BYTES = 8 * 1_048_576;
const PIECE_BYTES = 262_144;

/** A file that is open for reading, as it goes into an archive. */
export interface ArchiveSource extends ArchiveEntry {
  readonly handle: FileHandle;
}

/** The content of an archive before it is sealed: length of the table (4 bytes, big-endian), the table, the files one after the other. */
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
 * Writes the files of an archive's content below `directory`, each synced, mode 0600. VALIDATION_ERROR when the content is not as
 * `archiveContent` makes it; what was written by then stays.
 */
export async function unpackContent(
  content: AsyncIterable<Uint8Array>,
  directory: string,
  accept: (table: ArchiveTable) => void,
): Promise<ArchiveTable> {
  const queue = new ByteQueue(content);
  const length = await queue.take(LENGTH_BYTES);
  const tableBytes = length.length === LENGTH_BYTES ? length.readUInt32BE() : 0;
  if (tableBytes === 0 || tableBytes > MAX_TABLE_BYTES) throw cutOff('its table');
  const table = parseTable((await queue.take(tableBytes)).toString('utf8'));
  accept(table);
  for (const entry of table.entries) await writeEntry(entry, queue, directory);
  if ((await queue.take(1)).length > 0)
    throw new AtmoError('VALIDATION_ERROR', 'The backup cannot be used: more follows after its last file');
  return table;
}

async function writeEntry({ path, bytes, isExecutable }: ArchiveEntry, queue: ByteQueue, directory: string): Promise<void> {
  const target = join(directory, path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await using file = await open(target, 'wx', isExecutable ? 0o700 : 0o600);
  for (let done = 0; done < bytes; ) {
    const piece = await queue.take(Math.min(PIECE_BYTES, bytes - done));
    if (piece.length === 0) throw cutOff(path);
    await file.writeFile(piece);
    done += piece.length;
  }
  await file.sync();
}

function cutOff(what: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The backup cannot be used: it ends before ${what} does; take another one`);
}

/** One file of an archive. */
interface ArchiveEntry {
  /** In the state directory, with `/`; below `outside/` what lay elsewhere, by its absolute path. */
  readonly path: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
}

/** What stands at the beginning of an archive's content: what it is of, and its files in their order. */
export interface ArchiveTable {
  /** Of the software that made it. */
  readonly version: string;
  readonly hub: string;
  /** ISO 8601. */
  readonly madeAt: string;
  readonly entries: readonly ArchiveEntry[];
}

/** Folder of an archive with files from outside of the state directory. */
export const OUTSIDE = 'outside';
const MAX_ENTRIES = 10_000;
const MAX_PATH_LENGTH = 512;
const SEGMENT = /^(?!\.{1,2}$)[^/\0]{1,255}$/;

export function tableText({ version, hub, madeAt, entries }: ArchiveTable): string {
  const files = entries.map(({ path, bytes, isExecutable }) => ({ path, bytes, ...(isExecutable && { executable: true }) }));
  return JSON.stringify({ version, hub, made_at: madeAt, files });
}

/** VALIDATION_ERROR for what is no table; paths that would leave the directory among it. */
export function parseTable(text: string): ArchiveTable {
  const { version, hub, made_at: madeAt, files } = parsedObject(text);
  if (typeof version !== 'string' || typeof hub !== 'string' || typeof madeAt !== 'string')
    throw malformed('it does not say of what it is');
  if (!Array.isArray(files) || files.length > MAX_ENTRIES) throw malformed(`it has no list of at most ${MAX_ENTRIES} files`);
  const entries = files.map(entryOf);
  if (new Set(entries.map(({ path }) => path)).size < entries.length) throw malformed('a file is in it twice');
  return { version, hub, madeAt, entries };
}

function entryOf(value: unknown): ArchiveEntry {
  const { path, bytes, executable } = objectOf(value);
  if (typeof path !== 'string' || path.length > MAX_PATH_LENGTH || !path.split('/').every((segment) => SEGMENT.test(segment))) {
    throw malformed(`${JSON.stringify(path)} is no path of a file`);
  }
  // An archive that brought these could have the next start move other folders.
  if (RESTORE_NAMES.test(path)) throw malformed(`${path} belongs to a restore, and to no backup`);
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) throw malformed(`${path} has no size`);
  return { path, bytes, isExecutable: executable === true };
}

function parsedObject(text: string): Record<string, unknown> {
  const value = tryParseJson(text);
  if (isJsonObject(value)) return value;
  throw malformed('its table is no JSON object');
}

function malformed(why: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The backup cannot be used: ${why}; take another one`);
}
