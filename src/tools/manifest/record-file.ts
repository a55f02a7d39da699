import { existsSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type LocatedYaml, locatedYaml } from '../../core/config/checked-yaml.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { type AcceptedText, OwnerFile } from '../../core/files/owner-file.ts';
import { isJsonObject, type JsonObject, pointerKeys } from '../../core/json.ts';
import { plainName } from '../definition/tool-names.ts';
import { copyJson } from '../schema/plain-json.ts';

const MAX_BYTES = 1_048_576;
const LIST_KEY = 'tools';

/** A tool in a file of the owner. */
export interface FileRecord {
  readonly body: JsonObject;
  /** Returns file and line of a member of the record, by its JSON pointer; without a pointer, of the record. */
  place(pointer?: string): string;
}

/** A record of the owner that the hub leaves out. */
export interface SkippedRecord {
  /** File and line, such as `tools.yaml, line 4`. */
  readonly place: string;
  /** The mistake, and the tool. */
  readonly problem: string;
}

/** The readable records of a file. */
export interface RecordFile {
  readonly records: readonly FileRecord[];
  readonly leftOut: readonly SkippedRecord[];
  /** The reason why the records are those of the last valid file; absent if they are those of the present file. */
  readonly stale?: SkippedRecord;
}

/** Returns the tool name in a record: `id`, `name`, or the name in `tool`; undefined without one of these. */
export function recordName({ body: { id, name, tool } }: Pick<FileRecord, 'body'>): string | undefined {
  const inner = isJsonObject(tool) ? tool.name : undefined;
  return [id, name, inner].find((one) => typeof one === 'string');
}

/** The names of tools in files, which no other tool may have: compared without namespace and spelling. */
export class ReservedNames {
  readonly #names = new Map<string, ReadonlySet<string>>();

  reserve(file: string, records: readonly FileRecord[]): void {
    this.#names.set(file, new Set(records.flatMap((record) => normalizedName(recordName(record)) ?? [])));
  }

  has(name: string): boolean {
    const plain = normalizedName(name) ?? '';
    return [...this.#names.values()].some((names) => names.has(plain));
  }
}

function normalizedName(name: string | undefined): string | undefined {
  return name === undefined ? undefined : plainName(name.split('@', 1)[0]?.trim() ?? '');
}

const EMPTY_FILE: RecordFile = { records: [], leftOut: [] };

interface RecordFileOptions {
  /** Returns the store of the last valid text of a file. */
  readonly takenOf: (path: string) => AcceptedText;
  /** User that may own the file, beside root; the user of this process when absent. */
  readonly uid?: number;
}

/** Reads the records of one path, like `readFirstRecordFile`. */
export function readRecordFile(path: string, parts: RecordFileOptions): RecordFile {
  return readFirstRecordFile([path], parts);
}

/**
 * Returns the records of the first existing file: `tools:` with a list in YAML or JSON, or only a list. Never throws, so that the hub still
 * controls devices: a mistake affects only its record. If the file has vanished, is empty or unreadable, or other users than `uid` and root
 * can write it, the records of the last valid text stay in force.
 */
export function readFirstRecordFile(
  paths: readonly [string, ...string[]],
  { takenOf, uid = process.getuid?.() ?? 0 }: RecordFileOptions,
): RecordFile {
  const file = new OwnerFile({
    paths,
    read: (path) => (existsSync(path) ? textOf(path, uid) : undefined),
    parse: parseRecordFile,
    takenOf,
    nothing: { purpose: 'to have no tools of its own', text: 'tools: []' },
  });
  const { path } = file;
  try {
    const found = file.load();
    if (!found) return EMPTY_FILE;
    if ('fault' in found) return { ...found.content, stale: { place: path, problem: reasonOf(found.fault, path) } };
    file.accept(found);
    return found.content;
  } catch (thrown) {
    return { records: [], leftOut: [{ place: path, problem: reasonOf(thrown, path) }] };
  }
}

function textOf(path: string, uid: number): string {
  const bytes = readFileSync(trustedPath(path, uid));
  if (bytes.byteLength > MAX_BYTES) throw mistake(path, `${path} is longer than ${MAX_BYTES} bytes`);
  return bytes.toString('utf8');
}

/** Returns the records in the text of such a file. Throws CONFIG_INVALID, with file and line, if the text has no list of tools. */
export function parseRecordFile(text: string, path: string): RecordFile {
  return parseRecords(locatedYaml(text, path), path);
}

/** Returns the mistake in a record, with its file and line. */
export function skippedRecord({ place }: Pick<FileRecord, 'place'>, name: string | undefined, thrown: unknown): SkippedRecord {
  const { message, details } = toAtmoError(thrown);
  const pointer = typeof details.pointer === 'string' ? details.pointer : undefined;
  return { place: place(pointer), problem: name === undefined ? message : `${name}: ${message}` };
}

function parseRecords({ value, lineOf }: LocatedYaml, path: string): RecordFile {
  const list = isJsonObject(value) ? value[LIST_KEY] : value;
  const beside = isJsonObject(value) ? Object.keys(value).filter((key) => key !== LIST_KEY) : [];
  const unknown = beside.map((key) => ({ place: `${path}, line ${lineOf([key])}`, problem: `unknown key "${key}"; allowed: ${LIST_KEY}` }));
  if (list === undefined || list === null) return { records: [], leftOut: unknown };
  if (!Array.isArray(list)) throw mistake(path, `${path} has to hold a list of tools, or "tools:" with such a list`);
  const start = isJsonObject(value) ? [LIST_KEY] : [];
  const records: FileRecord[] = [];
  const refused: SkippedRecord[] = [...unknown];
  for (const [index, item] of list.entries()) {
    const place = (pointer = '') => `${path}, line ${lineOf([...start, index, ...indexes(pointer)])}`;
    try {
      const body = copyJson(item);
      if (!isJsonObject(body)) throw mistake(path, 'a tool has to be a mapping of keys to values');
      records.push({ body, place });
    } catch (thrown) {
      refused.push({ place: place(), problem: reasonOf(thrown, path) });
    }
  }
  return { records, leftOut: refused };
}

const indexes = (pointer: string): readonly (string | number)[] =>
  pointerKeys(pointer).map((key) => (/^\d+$/.test(key) ? Number(key) : key));

function mistake(file: string, problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', problem, { file });
}

/** Returns the text of an error; a file system error contains the path. */
function reasonOf(thrown: unknown, path: string): string {
  if (thrown instanceof AtmoError) return thrown.message;
  return `${path} cannot be read: ${thrown instanceof Error ? thrown.message : 'unknown reason'}`;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Returns the real path of a file with or about code. Throws CONFIG_INVALID with the remedy unless the file and all folders above it belong
 * to `uid` (the user of the service) or root, and nobody else can write them.
 */
export function trustedPath(path: string, uid: number): string {
  const real = realPathOf(path);
  for (const place of [real, ...foldersAbove(real)]) {
    // In a sticky folder such as /tmp others can add files, but not replace the owner's files.
    const isSticky = place !== real && place !== dirname(real) && (statSync(place).mode & STICKY) !== 0;
    requireOwn(place, statSync(place), isSticky ? { uid, isSticky } : { uid });
  }
  return real;
}

/**
 * Throws CONFIG_INVALID for a file that belongs to another user than `uid` and root, or that others can write; a link counts as its target.
 */
export function requireOwn(
  place: string,
  stat: Pick<Stats, 'uid' | 'mode' | 'isSymbolicLink'>,
  { uid, isSticky = false }: { readonly uid: number; readonly isSticky?: boolean },
): void {
  if (stat.uid !== uid && stat.uid !== 0) {
    throw new AtmoError('CONFIG_INVALID', `${place} belongs to user ${stat.uid}; only code of user ${uid} or root is loaded: chown it`);
  }
  if ((stat.mode & WRITABLE_BY_OTHERS) !== 0 && !isSticky && !stat.isSymbolicLink()) {
    throw new AtmoError('CONFIG_INVALID', `${place} can be written by others; run chmod go-w ${JSON.stringify(place)}`);
  }
}

/** Returns the folders above a path: a user who can write one of them can replace the next folder. */
function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...foldersAbove(parent)];
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    throw new AtmoError('CONFIG_INVALID', `There is no file ${path}`);
  }
}
