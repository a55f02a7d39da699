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

/** One tool that the owner wrote into a file. */
export interface FileRecord {
  readonly body: JsonObject;
  /** File and line of a member of the record, by its JSON pointer; of the record itself without one. */
  place(pointer?: string): string;
}

/** What a file of the owner asks for and the hub does without. */
export interface SkippedRecord {
  /** File and line, such as `tools.yaml, line 4`. */
  readonly place: string;
  /** What is wrong, and with which tool. */
  readonly problem: string;
}

/** What a file holds, as far as it can be read. */
export interface RecordFile {
  readonly records: readonly FileRecord[];
  readonly leftOut: readonly SkippedRecord[];
  /** Why the records are those that were taken last, and not those of the file; absent when they are the same. */
  readonly stale?: SkippedRecord;
}

/** What a record calls its tool: an `id`, a `name`, or that of the `tool` in it; undefined where it names none. */
export function recordName({ body: { id, name, tool } }: Pick<FileRecord, 'body'>): string | undefined {
  const inner = isJsonObject(tool) ? tool.name : undefined;
  return [id, name, inner].find((one) => typeof one === 'string');
}

/** The names that files give tools, as another tool would have them too: neither the namespace nor how they are written counts. */
export class ReservedNames {
  readonly #names = new Map<string, ReadonlySet<string>>();

  /** Keeps the names of one file, in place of those that it gave before. */
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
  /** Where the text of a file that was taken last is kept. */
  readonly takenOf: (path: string) => AcceptedText;
  /** Who may have written the file, beside root; the user of this process when absent. */
  readonly uid?: number;
}

/** As `readFirstRecordFile`, of a file with one place. */
export function readRecordFile(path: string, parts: RecordFileOptions): RecordFile {
  return readFirstRecordFile([path], parts);
}

/**
 * The records of the first of these files that is there, with a list of tools: `tools:` in YAML or JSON, or a bare list. Never throws: a
 * mistake costs the record in which it is. Where none is left, or the one that is there says nothing, cannot be read as a whole, or can be
 * written by others than `uid` and root, the records that were taken last count on; it costs its tools where none were. The hub goes on
 * to control lamps.
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

/** The records in the text of such a file. CONFIG_INVALID, with file and line, for what holds no list of tools at all. */
export function parseRecordFile(text: string, path: string): RecordFile {
  return parseRecords(locatedYaml(text, path), path);
}

/** Why a record is left out, and where the mistake in it stands. */
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

/** Errors of the file system have a text of their own, which names the path. */
function reasonOf(thrown: unknown, path: string): string {
  if (thrown instanceof AtmoError) return thrown.message;
  return `${path} cannot be read: ${thrown instanceof Error ? thrown.message : 'unknown reason'}`;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * The real path of a file that decides which code is loaded: it and every folder above it belong to `uid` (the service's
 * user) or root, and nobody else can write them. CONFIG_INVALID says which does not, and what to do.
 */
export function trustedPath(path: string, uid: number): string {
  const real = realPathOf(path);
  for (const place of [real, ...foldersAbove(real)]) {
    // Others may add to a sticky folder such as /tmp, but not replace what is ours in it.
    const isSticky = place !== real && place !== dirname(real) && (statSync(place).mode & STICKY) !== 0;
    requireOwn(place, statSync(place), isSticky ? { uid, isSticky } : { uid });
  }
  return real;
}

/** CONFIG_INVALID for what belongs to another user than `uid` and root, or can be written by others; a link is what it leads to. */
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

/** Who can write one of them can put another folder in place of the next. */
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
