import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, jsonIn } from '../../core/json.ts';
import { OF_RESTORE } from './state-files.ts';

/** One file of an archive. */
export interface ArchiveEntry {
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
  const { path, bytes, executable } = isJsonObject(value) ? value : {};
  if (typeof path !== 'string' || path.length > MAX_PATH_LENGTH || !path.split('/').every((segment) => SEGMENT.test(segment))) {
    throw malformed(`${JSON.stringify(path)} is no path of a file`);
  }
  // An archive that brought these could have the next start move other folders.
  if (OF_RESTORE.test(path)) throw malformed(`${path} belongs to a restore, and to no backup`);
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) throw malformed(`${path} has no size`);
  return { path, bytes, isExecutable: executable === true };
}

function parsedObject(text: string): Record<string, unknown> {
  const value = jsonIn(text);
  if (isJsonObject(value)) return value;
  throw malformed('its table is no JSON object');
}

function malformed(why: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The backup cannot be used: ${why}; take another one`);
}
