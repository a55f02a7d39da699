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

/** A tool record in one of the owner's files. */
export interface FileRecord {
  readonly body: JsonObject;
  /** Returns the file and line of the member at the JSON pointer, or of the whole record if no pointer is given. */
  place(pointer?: string): string;
}

/** A record in an owner's file that the hub skips because of a mistake. */
export interface SkippedRecord {
  /** File and line, such as `tools.yaml, line 4`. */
  readonly place: string;
  /** Text with the name of the tool and the mistake. */
  readonly problem: string;
}

/** The records that the hub read from a file. */
export interface RecordFile {
  readonly records: readonly FileRecord[];
  readonly leftOut: readonly SkippedRecord[];
  /** Why the current version of the file is not used. If this is set, the records come from the file's last valid version. */
  readonly stale?: SkippedRecord;
}

/** Returns the tool name in a record: its `id`, its `name`, or the name in its `tool` member. Returns undefined if it has none of them. */
export function recordName({ body: { id, name, tool } }: Pick<FileRecord, 'body'>): string | undefined {
  const inner = isJsonObject(tool) ? tool.name : undefined;
  return [id, name, inner].find((one) => typeof one === 'string');
}

/** Remembers the tool names in the owner's files, so that no other tool gets them. Namespaces and letter case are ignored. */
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
  /** Returns the store that holds the last valid text of a file. */
  readonly takenOf: (path: string) => AcceptedText;
  /** User who may own the file besides root; default: the user of this process. */
  readonly uid?: number;
}

/** Reads the records of one file, like `readFirstRecordFile`. */
export function readRecordFile(path: string, parts: RecordFileOptions): RecordFile {
  return readFirstRecordFile([path], parts);
}

/**
 * Returns the records of the first existing file. The file is YAML or JSON, and has a list or `tools:` with a list. Never throws, because
 * the hub must still control devices. A record with a mistake is skipped. If the file is missing, empty, unreadable or unsafe (writable by
 * users other than `uid` and root), returns the records of the last valid text.
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

/** Returns the records in the text of a record file. Throws CONFIG_INVALID, with file and line, if the text has no list of tools. */
export function parseRecordFile(text: string, path: string): RecordFile {
  return parseRecords(locatedYaml(text, path), path);
}

/** Describes a skipped record: its file and line, its name, and the mistake `thrown`. */
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

/** Returns the message of an error. For an error of the file system, the message contains the path. */
function reasonOf(thrown: unknown, path: string): string {
  if (thrown instanceof AtmoError) return thrown.message;
  return `${path} cannot be read: ${thrown instanceof Error ? thrown.message : 'unknown reason'}`;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Returns the real path of a file that contains or configures code. The file and all folders above it must belong to `uid` (the service's
 * user) or root, and nobody else may be able to write them. Otherwise throws CONFIG_INVALID with the remedy.
 */
export function trustedPath(path: string, uid: number): string {
  const real = realPathOf(path);
  for (const place of [real, ...foldersAbove(real)]) {
    // In a sticky folder such as /tmp, other users can add files, but can replace only their own files.
    const isSticky = place !== real && place !== dirname(real) && (statSync(place).mode & STICKY) !== 0;
    requireOwn(place, statSync(place), isSticky ? { uid, isSticky } : { uid });
  }
  return real;
}

/** Throws CONFIG_INVALID if a user other than `uid` or root owns the file or can write it. The mode of a link itself is ignored. */
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

/** Returns all folders above a path. A user who can write one of them could replace the folder below it. */
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
