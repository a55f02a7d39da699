import { join } from 'node:path';
import { AtmoError } from '../errors.ts';
import type { HubProblems } from '../hub-problems.ts';
import { jsonIn } from '../json.ts';
import type { Logger } from '../logger.ts';
import { attemptWrite, textIfThere } from './durable-file.ts';
import { keepTaken, OwnerFile, type OwnerText, type TakenText } from './owner-file.ts';

/** Files of JSON that people put into a folder, and what they say. */
interface OwnerFolderParts<Content> {
  readonly path: string;
  /** Files that are there, below the folder. */
  readonly names: readonly string[];
  /** Throws for a text with mistakes. */
  readonly parse: (text: string, path: string) => Content;
  /** What only one of the files may be about; undefined for a file that stands beside all others. */
  readonly subjectOf: (content: Content) => string | undefined;
  readonly takenOf: (path: string) => TakenText;
}

/** What counts of a folder. */
interface OwnerFolder<Content> {
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
const NOTHING = 'null';

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
    for (const one of inForce) one.file.keep(one);
    const kept = [...inForce, ...stale].map(({ name }) => name).sort();
    if (kept.length > 0 || before.length > 0) keepTaken(taken, JSON.stringify(kept));
    for (const name of before) if (!kept.includes(name)) attemptWrite(() => takenOf(join(path, name)).forget());
  };
  return {
    contents: counting.flatMap(({ content }) => content ?? []),
    faults: stale.map(({ fault, path: file }) => reasonOf(fault, file)),
    keep,
  };
}

/** Tells that texts count that the files of a folder do not have. */
export function tellStaleFolder(
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
    read: textIfThere,
    parse: (text, one) => (text.trim() === NOTHING ? undefined : parse(text, one)),
    takenOf,
    nothing: { purpose: 'to be without it', text: NOTHING },
  });
  const found = file.load();
  return found && { ...found, name, file };
}

function namesIn(text: string | undefined): readonly string[] {
  const names = text === undefined ? [] : jsonIn(text);
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

/** Errors of the file system have a text of their own. */
function reasonOf(fault: unknown, path: string): string {
  if (fault instanceof AtmoError) return fault.message;
  return `${path} cannot be read: ${fault instanceof Error ? fault.message : 'unknown reason'}`;
}
