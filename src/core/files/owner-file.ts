import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { AtmoError } from '../errors.ts';
import type { HubProblems } from '../health.ts';
import { tryParseJson } from '../json.ts';
import type { Logger } from '../logger.ts';
import type { KeyValueStore } from '../storage/key-value-store.ts';
import { attemptWrite, parseJsonFile, readTextIfExists } from './file-system.ts';

/** Where the text that counted last is kept: the file alone cannot tell "none" from "lost". */
export interface AcceptedText {
  /** Undefined where none was ever taken. */
  get(): string | undefined;
  /** Throws where the disk takes nothing. */
  set(text: string): void;
  /** Forgets the text. Throws where the disk takes nothing. */
  forget(): void;
}

/** How the owner says that there is to be nothing in a file. */
interface EmptyForm {
  /** Such as `to have no rules`. */
  readonly purpose: string;
  /** Such as `rules: []`. */
  readonly text: string;
}

/** A file that people edit, and what it says. */
interface OwnerFileParts<Content> {
  /** Where it is looked for: the first place with a file counts. */
  readonly paths: readonly [string, ...string[]];
  /** Undefined when there is no file. Throws for one that must not be used. */
  readonly read: (path: string) => string | undefined;
  /** Throws for a text with mistakes. */
  readonly parse: (text: string, path: string) => Content;
  readonly takenOf: (path: string) => AcceptedText;
  readonly nothing: EmptyForm;
}

/** What counts of a file that people edit. */
export interface OwnerText<Content> {
  readonly content: Content;
  readonly text: string;
  /** Where it is, or was when its text was taken. */
  readonly path: string;
  /** Why this is what was taken last, and not what the file says; absent when it is the same. */
  readonly fault?: unknown;
}

/** White space, and the zeros that a power cut leaves. */
const BLANK = /^[\s\0]*$/;
const SPACE = 'owner-files';
const GONE = 'is gone';

/**
 * A file that its owner edits. An edit is no damage, so the file is not anchored by its content: the text that counted last is kept,
 * and counts on where no file is left at any of its places, or the one that is there says nothing at all or has mistakes.
 */
export class OwnerFile<Content> {
  readonly #parts: OwnerFileParts<Content>;

  constructor(parts: OwnerFileParts<Content>) {
    this.#parts = parts;
  }

  /** The place with a file, else that of the text that was taken, else the first. */
  get path(): string {
    const [first] = this.#parts.paths;
    return this.#placeOfFile() ?? this.#before()?.path ?? first;
  }

  /** True when a text of it was ever taken. */
  wasAccepted(): boolean {
    return this.#before() !== undefined;
  }

  /**
   * Undefined when there is no file, and either never was or was taken last as one that holds nothing. Throws what the file throws
   * where nothing was ever taken of it.
   */
  load(): OwnerText<Content> | undefined {
    const { read, parse, nothing } = this.#parts;
    const before = this.#before();
    const { path } = this;
    try {
      const text = read(path);
      if (text === undefined && before && isSame(before.text, nothing.text)) return undefined;
      if (before !== undefined) this.#requireSomething(text);
      return text === undefined ? undefined : { content: parse(text, path), text, path };
    } catch (fault) {
      const content = before === undefined ? undefined : this.#parsedOr(before, fault);
      if (before === undefined || content === undefined) throw fault;
      return { ...before, content, fault };
    }
  }

  /**
   * Keeps a text that counts from now on, and forgets those of other places. What a full disk or its bounds do not take now is kept
   * at a later start.
   */
  accept({ text, path }: Pick<OwnerText<Content>, 'text' | 'path'>): void {
    const { paths, takenOf } = this.#parts;
    if (isBlank(text)) return;
    saveAccepted(takenOf(path), text);
    for (const other of paths.filter((one) => one !== path).map(takenOf)) {
      attemptWrite(() => {
        if (other.get() !== undefined) other.forget();
      });
    }
  }

  #placeOfFile(): string | undefined {
    return this.#parts.paths.find((path) => existsSync(path));
  }

  /** What was taken of the place with the file; where that is new, of the place where a file was before. */
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

  /** What a newer version does not understand any more helps nobody: then the file itself is what the owner has to hear of. */
  #parsedOr({ text, path }: Pick<OwnerText<Content>, 'text' | 'path'>, fault: unknown): Content {
    try {
      return this.#parts.parse(text, path);
    } catch {
      throw fault;
    }
  }
}

/** Keeps a text that counts from now on, where it says something and the disk takes it. */
export function saveAccepted(taken: AcceptedText, text: string): void {
  attemptWrite(() => {
    if (!isBlank(text) && taken.get() !== text) taken.set(text);
  });
}

/** True for white space, and for the zeros that a power cut leaves. */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

/** True where two texts differ in comments, white space and marks of YAML alone. */
function isSame(a: string, b: string): boolean {
  const plain = (text: string) => text.replaceAll(/(^|\s)#.*$|^(---|\.\.\.)\s*$|\s/gm, '');
  return plain(a) === plain(b);
}

/** The error for a file that says nothing where it has to say something, with how the hub is made to forget what it said. */
export function blankFileError(path: string, found: string, { purpose, text }: EmptyForm): AtmoError {
  const after = found === GONE ? '; when the hub has taken that, the file may be removed' : '';
  return new AtmoError('CONFIG_INVALID', `${path} ${found}; ${purpose}, write ${JSON.stringify(text)} into it${after}`, { file: path });
}

/** What a file is remembered by: a state directory may be moved, or restored somewhere else, with all that is in it. */
export function fileKey(stateDir: string, path: string): string {
  const [folder, file] = [resolve(stateDir), resolve(path)];
  const place = file.startsWith(`${folder}/`) ? relative(folder, file) : file;
  return createHash('sha256').update(place, 'utf8').digest('hex').slice(0, 32);
}

type TextStore = Pick<KeyValueStore, 'get' | 'set' | 'delete'>;

/** Keeps the texts of files in the store. */
export function acceptedTextsInStore(store: TextStore, stateDir: string): (path: string) => AcceptedText {
  return (path) => acceptedTextInStore(store, SPACE, fileKey(stateDir, path));
}

/** Keeps a text in the store, in this entry. */
export function acceptedTextInStore(store: TextStore, space: string, key: string): AcceptedText {
  return {
    get: () => {
      const text = store.get(space, key);
      return typeof text === 'string' ? text : undefined;
    },
    set: (text) => store.set(space, key, text),
    forget: () => void store.delete(space, key),
  };
}

/** Files of JSON that people put into a folder, and what they say. */
interface OwnerFolderParts<Content> {
  readonly path: string;
  /** Files that are there, below the folder. */
  readonly names: readonly string[];
  /** Throws for JSON with mistakes. */
  readonly parse: (json: unknown, path: string) => Content;
  /** The subject that only one file may have; undefined for a file that stands beside all others. */
  readonly subjectOf: (content: Content) => string | undefined;
  readonly takenOf: (path: string) => AcceptedText;
}

/** What counts of a folder. */
export interface OwnerFolder<Content> {
  readonly contents: readonly Content[];
  /** Why files do not count as they are there, or are not. */
  readonly faults: readonly string[];
  /** Keeps the texts that count from now on. */
  readonly keep: () => void;
}

interface Read<Content> extends OwnerText<Content | undefined> {
  readonly name: string;
  readonly file: OwnerFile<Content | undefined>;
}

/** A file that says this is as good as none. */
const EMPTY_JSON = 'null';

/**
 * Files that their owner keeps in a folder, each an `OwnerFile`: the text that counted last counts on where a file is gone, is empty
 * or has mistakes, until the owner says that there is to be none. A file that is gone counts no more, and is no loss, where another one
 * is about the same. Throws what a file throws of which nothing was ever taken.
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

/** Tells that texts count that the files of a folder do not have. */
export function reportStaleFolder(
  { logger, problems }: { readonly logger: Logger; readonly problems: Pick<HubProblems, 'raise'> },
  { path, faults }: { readonly path: string; readonly faults: readonly string[] },
): void {
  if (faults.length === 0) return;
  const reason = `${faults.join('. ')} (what it said when it was taken last goes on counting)`;
  problems.raise(path, reason);
  logger.error('owner_files_refused', { path, reason });
}

/** Undefined for a file that is gone, and was taken last as one that says nothing. */
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

/** Errors of the file system have a text of their own. */
function reasonOf(fault: unknown, path: string): string {
  if (fault instanceof AtmoError) return fault.message;
  return `${path} cannot be read: ${fault instanceof Error ? fault.message : 'unknown reason'}`;
}
