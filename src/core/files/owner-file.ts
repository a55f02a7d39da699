import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { AtmoError } from '../errors.ts';
import type { HubProblems } from '../health.ts';
import { tryParseJson } from '../json.ts';
import type { Logger } from '../logger.ts';
import type { KeyValueStore } from '../storage/key-value-store.ts';
import { attemptWrite, parseJsonFile, readTextIfExists } from './file-system.ts';

/** Stores the last text of a file that the hub accepted. If the file is missing, a stored text shows that the file was lost. */
export interface AcceptedText {
  /** Returns the text; undefined if no text was ever accepted. */
  get(): string | undefined;
  /** Returns whether a text was accepted and is damaged, so that nobody knows what it said. */
  wasLost(): boolean;
  /** Stores the text. Throws if the write fails. */
  set(text: string): void;
  /** Deletes the text. Throws if the write fails. */
  forget(): void;
}

/** Tells how the owner empties a file on purpose: by writing `text` into it. A blank file counts as damaged. */
interface EmptyForm {
  /** What the owner achieves with an empty file, such as `to have no rules`. */
  readonly purpose: string;
  /** Text that counts as empty, such as `rules: []`. */
  readonly text: string;
}

/** The paths and the parser of a file that people edit. */
interface OwnerFileParts<Content> {
  /** Possible paths of the file. The first path at which a file exists is used. */
  readonly paths: readonly [string, ...string[]];
  /** Returns the text of a file; undefined if there is no file. Throws if the file must not be used. */
  readonly read: (path: string) => string | undefined;
  /** Parses the text. Throws if the text has mistakes. */
  readonly parse: (text: string, path: string) => Content;
  readonly takenOf: (path: string) => AcceptedText;
  readonly nothing: EmptyForm;
}

/** The text in force, for a file that people edit. */
export interface OwnerText<Content> {
  readonly content: Content;
  readonly text: string;
  /** Path of the file. If the accepted text is in force, this is the path at which the hub accepted that text. */
  readonly path: string;
  /** Reason why the accepted text is in force instead of the file; absent if the file is in force. */
  readonly fault?: unknown;
}

/** Pattern of a blank text. It has only white space or the zeros that a power cut leaves. */
const BLANK = /^[\s\0]*$/;
const SPACE = 'owner-files';
const GONE = 'is gone';

/**
 * A file that its owner edits, at one of several possible paths. It has no checksum, because the owner may change it at any time. Instead,
 * the hub stores the last text that it accepted. If no path has a file, or the file is blank or has mistakes, that text stays in force.
 */
export class OwnerFile<Content> {
  readonly #parts: OwnerFileParts<Content>;

  constructor(parts: OwnerFileParts<Content>) {
    this.#parts = parts;
  }

  /** Returns the path of the existing file. If there is none, returns the path of the accepted text, or else the first path. */
  get path(): string {
    const [first] = this.#parts.paths;
    return this.#placeOfFile() ?? this.#before()?.path ?? first;
  }

  wasAccepted(): boolean {
    return this.#before() !== undefined;
  }

  /**
   * Returns the text in force: the text of the file, or the accepted text if the file is missing or faulty. Returns undefined if the file
   * is missing and the accepted text is absent or `nothing.text`. Throws the error of a faulty file if no accepted text can be used.
   */
  load(): OwnerText<Content> | undefined {
    const { read, parse, nothing, takenOf } = this.#parts;
    const before = this.#before();
    const { path } = this;
    try {
      const text = read(path);
      if (text === undefined && before && isSame(before.text, nothing.text)) return undefined;
      if (before !== undefined || this.#parts.paths.some((one) => takenOf(one).wasLost())) this.#requireSomething(text);
      return text === undefined ? undefined : { content: parse(text, path), text, path };
    } catch (fault) {
      const content = before === undefined ? undefined : this.#parsedOr(before, fault);
      if (before === undefined || content === undefined) throw fault;
      return { ...before, content, fault };
    }
  }

  /** Stores `text` as the accepted text of `path`, and deletes those of other paths. If a write fails, a later start repeats it. */
  accept({ text, path }: Pick<OwnerText<Content>, 'text' | 'path'>): void {
    const { paths, takenOf } = this.#parts;
    if (isBlank(text)) return;
    saveAccepted(takenOf(path), text);
    for (const other of paths.filter((one) => one !== path).map(takenOf)) {
      attemptWrite(() => {
        if (other.get() !== undefined || other.wasLost()) other.forget();
      });
    }
  }

  #placeOfFile(): string | undefined {
    return this.#parts.paths.find((path) => existsSync(path));
  }

  /** Returns the text that was accepted from the path where the file is now. If there is none, returns one accepted from another path. */
  #before(): Pick<OwnerText<Content>, 'text' | 'path'> | undefined {
    const { paths, takenOf } = this.#parts;
    const there = this.#placeOfFile();
    for (const path of there === undefined ? paths : [there, ...paths]) {
      const text = takenOf(path).get();
      if (text !== undefined) return { text, path };
    }
    return undefined;
  }

  #requireSomething(text: string | undefined): void {
    if (text !== undefined && !isBlank(text)) return;
    throw blankFileError(this.path, text === undefined ? GONE : 'is empty', this.#parts.nothing);
  }

  /** Parses the accepted text. If it has mistakes for this version of the hub, throws `fault`, the error of the file. */
  #parsedOr({ text, path }: Pick<OwnerText<Content>, 'text' | 'path'>, fault: unknown): Content {
    try {
      return this.#parts.parse(text, path);
    } catch {
      throw fault;
    }
  }
}

/** Stores the text in force as the accepted text. Does nothing if the text is blank, and ignores a failed write. */
export function saveAccepted(taken: AcceptedText, text: string): void {
  attemptWrite(() => {
    if (!isBlank(text) && taken.get() !== text) taken.set(text);
  });
}

/** Returns whether a text has only white space or the zeros that a power cut leaves. */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

/** Returns whether two texts differ only in comments, white space and YAML markers. */
function isSame(a: string, b: string): boolean {
  const plain = (text: string) => text.replaceAll(/(^|\s)#.*$|^(---|\.\.\.)\s*$|\s/gm, '');
  return plain(a) === plain(b);
}

/** Returns the error for a file that had a text and is now blank or missing. Its message says how to empty the file on purpose. */
export function blankFileError(path: string, found: string, { purpose, text }: EmptyForm): AtmoError {
  const after = found === GONE ? '; when the hub has taken that, the file may be removed' : '';
  return new AtmoError('CONFIG_INVALID', `${path} ${found}; ${purpose}, write ${JSON.stringify(text)} into it${after}`, { file: path });
}

/** Returns the key of a file. A file in the state directory keeps its key if the directory is moved or restored elsewhere. */
export function fileKey(stateDir: string, path: string): string {
  const [folder, file] = [resolve(stateDir), resolve(path)];
  const place = file.startsWith(`${folder}/`) ? relative(folder, file) : file;
  return createHash('sha256').update(place, 'utf8').digest('hex').slice(0, 32);
}

type TextStore = Pick<KeyValueStore, 'get' | 'set' | 'delete'>;

/** Returns a function that gives the AcceptedText of a path. The texts are stored in `store`. */
export function acceptedTextsInStore(store: TextStore, stateDir: string): (path: string) => AcceptedText {
  return (path) => acceptedTextInStore(store, SPACE, fileKey(stateDir, path));
}

/** Returns an AcceptedText that is stored in one entry of `store`. */
export function acceptedTextInStore(store: TextStore, space: string, key: string): AcceptedText {
  return {
    get: () => {
      const text = store.get(space, key);
      return typeof text === 'string' ? text : undefined;
    },
    // The store notices damage itself.
    wasLost: () => false,
    set: (text) => store.set(space, key, text),
    forget: () => void store.delete(space, key),
  };
}

/** A folder of JSON files that people edit, with their parser. */
interface OwnerFolderParts<Content> {
  readonly path: string;
  readonly names: readonly string[];
  /** Parses the JSON. Throws if it has mistakes. */
  readonly parse: (json: unknown, path: string) => Content;
  /** Returns the subject of a file; undefined if it has none. Two files must not have the same subject. */
  readonly subjectOf: (content: Content) => string | undefined;
  readonly takenOf: (path: string) => AcceptedText;
}

/** The contents in force, for the files in a folder. */
export interface OwnerFolder<Content> {
  readonly contents: readonly Content[];
  /** Texts for people about files that are missing or not in force. */
  readonly faults: readonly string[];
  /** Stores the texts that are now in force as the accepted texts. */
  readonly keep: () => void;
}

interface Read<Content> extends OwnerText<Content | undefined> {
  readonly name: string;
  readonly file: OwnerFile<Content | undefined>;
}

/** Text that the owner writes into a file to make it empty. */
const EMPTY_JSON = 'null';

/**
 * Reads the owner's files in a folder, each like an `OwnerFile`. If a file is missing, blank or has mistakes, its accepted text stays in
 * force until the owner writes `null` into the file. If a valid file has the same subject as an accepted text, the accepted text is not in
 * force, and the absence of its file is no fault. Throws a file's error if no text of the file was ever accepted.
 */
export function readOwnerFolder<Content>(parts: OwnerFolderParts<Content>): OwnerFolder<Content> {
  const { path, names, subjectOf, takenOf } = parts;
  const taken = takenOf(path);
  const before = namesIn(taken.get());
  const read = [...new Set([...names, ...before])].sort().flatMap((name) => readOne(parts, name) ?? []);
  const inForce = read.filter((one) => !('fault' in one));
  const subjects = new Set(inForce.flatMap(({ content }) => (content === undefined ? [] : (subjectOf(content) ?? []))));
  const isSucceeded = ({ content }: Read<Content>) => content !== undefined && subjects.has(subjectOf(content) ?? '');
  const stale = read.filter((one) => 'fault' in one && (names.includes(one.name) || !isSucceeded(one)));
  const counting = [...inForce, ...stale.filter((one) => !isSucceeded(one))];
  const keep = () => {
    for (const one of inForce) one.file.accept(one);
    const kept = [...inForce, ...stale].map(({ name }) => name).sort();
    if (kept.length > 0 || before.length > 0) saveAccepted(taken, JSON.stringify(kept));
    for (const name of before) if (!kept.includes(name)) attemptWrite(() => takenOf(join(path, name)).forget());
  };
  return {
    contents: counting.flatMap(({ content }) => content ?? []),
    faults: stale.map(({ fault, path: file }) => reasonOf(fault, file)),
    keep,
  };
}

/** Reports, as a problem and in the log, why accepted texts are in force instead of a folder's files. */
export function reportStaleFolder(
  { logger, problems }: { readonly logger: Logger; readonly problems: Pick<HubProblems, 'raise'> },
  { path, faults }: { readonly path: string; readonly faults: readonly string[] },
): void {
  if (faults.length === 0) return;
  const reason = `${faults.join('. ')} (what it said when it was taken last goes on counting)`;
  problems.raise(path, reason);
  logger.error('files.owner_files_refused', { path, reason });
}

/** Reads one file. Returns undefined if the file is missing and its accepted text is `null`, which stands for an emptied file. */
function readOne<Content>({ path, parse, takenOf }: OwnerFolderParts<Content>, name: string): Read<Content> | undefined {
  const file = new OwnerFile<Content | undefined>({
    paths: [join(path, name)],
    read: readTextIfExists,
    parse: (text, one) => (text.trim() === EMPTY_JSON ? undefined : parse(parseJsonFile(one, text), one)),
    takenOf,
    nothing: { purpose: 'to be without it', text: EMPTY_JSON },
  });
  const found = file.load();
  return found && { ...found, name, file };
}

function namesIn(text: string | undefined): readonly string[] {
  const names = text === undefined ? [] : tryParseJson(text);
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

function reasonOf(fault: unknown, path: string): string {
  if (fault instanceof AtmoError) return fault.message;
  return `${path} cannot be read: ${fault instanceof Error ? fault.message : 'unknown reason'}`;
}
