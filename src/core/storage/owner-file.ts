import { createHash } from 'node:crypto';
import { relative, resolve } from 'node:path';
import { AtmoError } from '../errors.ts';
import { attemptWrite } from './durable-file.ts';
import type { KeyValueStore } from './key-value-store.ts';

/** Where the text that counted last is kept: the file alone cannot tell "none" from "lost". */
export interface TakenText {
  /** Undefined where none was ever taken. */
  get(): string | undefined;
  /** Throws where the disk takes nothing. */
  set(text: string): void;
}

/** A file that people edit, and what it says. */
interface OwnerFileParts<Content> {
  readonly path: string;
  /** Undefined when there is no file. Throws for one that must not be used. */
  readonly read: () => string | undefined;
  /** Throws for a text with mistakes. */
  readonly parse: (text: string) => Content;
  readonly taken: TakenText;
  /** How the owner says that there is to be nothing, such as `to have no rules, write "rules: []" into it`. */
  readonly nothing: string;
}

/** What counts of a file that people edit. */
export interface OwnerText<Content> {
  readonly content: Content;
  readonly text: string;
  /** Why this is what was taken last, and not what the file says; absent when it is the same. */
  readonly fault?: unknown;
}

/** White space, and the zeros that a power cut leaves. */
const NOTHING = /^[\s\0]*$/;
const SPACE = 'owner-files';

/**
 * A file that its owner edits. An edit is no damage, so the file is not anchored by its content: the text that counted last is kept,
 * and counts on where the file is gone, says nothing at all, or has mistakes.
 */
export class OwnerFile<Content> {
  readonly #parts: OwnerFileParts<Content>;

  constructor(parts: OwnerFileParts<Content>) {
    this.#parts = parts;
  }

  get path(): string {
    return this.#parts.path;
  }

  /** True when a text of it was ever taken. */
  wasTaken(): boolean {
    return this.#parts.taken.get() !== undefined;
  }

  /** Undefined when there is no file and never was. Throws what the file throws where nothing was ever taken of it. */
  load(): OwnerText<Content> | undefined {
    const { read, parse, taken } = this.#parts;
    const before = taken.get();
    try {
      const text = read();
      if (before !== undefined) this.#requireSomething(text);
      return text === undefined ? undefined : { content: parse(text), text };
    } catch (fault) {
      const content = before === undefined ? undefined : this.#parsedOr(before, fault);
      if (before === undefined || content === undefined) throw fault;
      return { content, text: before, fault };
    }
  }

  /** Keeps a text that counts from now on. What a full disk or its bounds do not take now is kept at a later start. */
  keep(text: string): void {
    keepTaken(this.#parts.taken, text);
  }

  #requireSomething(text: string | undefined): void {
    if (text !== undefined && !saysNothing(text)) return;
    throw nothingIn(this.#parts, text === undefined ? 'is gone' : 'is empty');
  }

  /** What a newer version does not understand any more helps nobody: then the file itself is what the owner has to hear of. */
  #parsedOr(text: string, fault: unknown): Content {
    try {
      return this.#parts.parse(text);
    } catch {
      throw fault;
    }
  }
}

/** Keeps a text that counts from now on, where it says something and the disk takes it. */
export function keepTaken(taken: TakenText, text: string): void {
  attemptWrite(() => {
    if (!saysNothing(text) && taken.get() !== text) taken.set(text);
  });
}

/** True for white space, and for the zeros that a power cut leaves. */
export function saysNothing(text: string): boolean {
  return NOTHING.test(text);
}

/** The error for a file that says nothing where it has to say something. */
export function nothingIn({ path, nothing }: { readonly path: string; readonly nothing: string }, found: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', `${path} ${found}; ${nothing}`, { file: path });
}

/** What a file is remembered by: a state directory may be moved, or restored somewhere else, with all that is in it. */
export function placeOf(stateDir: string, path: string): string {
  const [folder, file] = [resolve(stateDir), resolve(path)];
  const place = file.startsWith(`${folder}/`) ? relative(folder, file) : file;
  return createHash('sha256').update(place, 'utf8').digest('hex').slice(0, 32);
}

/** Keeps the texts of files in the store. */
export function takenInStore(store: Pick<KeyValueStore, 'get' | 'set'>, stateDir: string): (path: string) => TakenText {
  return (path) => textInStore(store, SPACE, placeOf(stateDir, path));
}

/** Keeps a text in the store, in this entry. */
export function textInStore(store: Pick<KeyValueStore, 'get' | 'set'>, space: string, key: string): TakenText {
  return {
    get: () => {
      const text = store.get(space, key);
      return typeof text === 'string' ? text : undefined;
    },
    set: (text) => store.set(space, key, text),
  };
}
