import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AtmoError } from '../errors.ts';
import type { HubProblems } from '../health.ts';
import { isJsonObject, tryParseJson } from '../json.ts';
import type { Logger } from '../logger.ts';
import { attemptWrite, readTextIfExists, replaceFile, setAside, setAsideUnlessFile, syncPath } from './file-system.ts';
import { type AcceptedText, fileKey } from './owner-file.ts';

/** Is called for a file that was not as it had been written. */
export type OnRepaired = (repair: FileRepair) => void;

/** What a start did about a file. */
export interface FileRepair {
  readonly path: string;
  /** Such as `is empty`. */
  readonly found: string;
  /** Where the damaged file is now. */
  readonly aside?: string;
  /** What happened in place of putting the copy back. */
  readonly instead?: string;
}

interface RecoverableFileOptions {
  readonly path: string;
  /** True for a text that is in itself what such a file holds. */
  readonly isWhole: (text: string) => boolean;
  readonly onRepaired: OnRepaired;
}

interface Copy {
  readonly text: string;
  /** Digest of the text that is being replaced; absent when that is done. */
  readonly before?: string;
}

const FOLDER = 'snapshots';
const NO_FILE = 'none';

/** Where the copy of a file lies, for messages that say how to be rid of both. */
export function backupCopyPath(path: string): string {
  return join(dirname(path), FOLDER, `${basename(path)}.kept`);
}

/** Tells of repairs in the log and as problems of the hub. */
export function repairReporter({
  logger,
  problems,
}: {
  readonly logger: Logger;
  readonly problems: Pick<HubProblems, 'raise'>;
}): OnRepaired {
  return ({ path, found, aside, instead = 'the copy that was kept is in its place' }) => {
    logger.error('file_restored', { path, found, ...(aside !== undefined && { set_aside: aside }) });
    const where = aside === undefined ? '' : ` What was there lies beside it as ${basename(aside)}.`;
    problems.raise(path, `${basename(path)} ${found}; ${instead}.${where}`);
  };
}

/**
 * A small file of text, such as a key, with a copy and a checksum in the folder `snapshots` beside it: what is deleted, emptied,
 * damaged or put back to an older state comes back from the copy. A file without a copy, of an older hub, is taken as it is and
 * gets one.
 */
export class RecoverableFile {
  readonly #parts: RecoverableFileOptions;

  constructor(parts: RecoverableFileOptions) {
    this.#parts = parts;
  }

  /** Undefined when there is none and never was. STORAGE_FAILED when file and copy are lost; throws what the file system says. */
  read(): string | undefined {
    const { path, isWhole } = this.#parts;
    const copy = this.#readCopy();
    const folderAside = setAsideUnlessFile(path);
    const text = readTextIfExists(path);
    if (copy === 'damaged' && (text === undefined || !isWhole(text))) throw this.#lost();
    if (copy === undefined || copy === 'damaged') {
      if (text !== undefined && isWhole(text)) attemptWrite(() => this.#keep({ text }));
      return text;
    }
    if (text !== copy.text) this.#repair(copy, text, folderAside);
    else if (copy.before !== undefined) attemptWrite(() => this.#keep({ text }));
    return copy.text;
  }

  /** After a crash the old text or the new one is there. Throws what the file system says. */
  write(text: string): void {
    const { path } = this.#parts;
    const before = existsSync(path) ? digestOf(readFileSync(path, 'utf8')) : NO_FILE;
    this.#keep({ text, before });
    replaceFile(path, text);
    this.#keep({ text });
  }

  /** The copy goes first, and is gone for good before the file goes: what is left of both must never bring the text back. */
  remove(): void {
    for (const path of [backupCopyPath(this.#parts.path), this.#parts.path]) {
      rmSync(path, { force: true });
      if (existsSync(dirname(path))) syncPath(dirname(path));
    }
  }

  #repair(copy: Copy, text: string | undefined, folderAside: string | undefined): void {
    const { path, onRepaired } = this.#parts;
    // The process ended in the middle of `write`, which is no damage.
    const isCutOff = copy.before === (text === undefined ? NO_FILE : digestOf(text)) && folderAside === undefined;
    const aside = folderAside ?? (isCutOff ? undefined : setAside(path));
    const found =
      folderAside !== undefined
        ? 'was a folder'
        : text === undefined
          ? 'is missing'
          : text === ''
            ? 'is empty'
            : 'is not as it was written';
    if (!isCutOff) onRepaired({ path, found, ...(aside !== undefined && { aside }) });
    // On a full disk the text is known all the same.
    attemptWrite(() => {
      replaceFile(path, copy.text);
      this.#keep({ text: copy.text });
    });
  }

  #readCopy(): Copy | 'damaged' | undefined {
    return readCopy(backupCopyPath(this.#parts.path));
  }

  #keep(copy: Copy): void {
    writeCopy(backupCopyPath(this.#parts.path), copy);
  }

  #lost(): AtmoError {
    const { path } = this.#parts;
    return new AtmoError(
      'STORAGE_FAILED',
      `${path} is damaged or missing, and its copy ${backupCopyPath(path)} is damaged. Restore both from a backup; without one, delete both to begin anew`,
      { path, cause: 'lost' },
    );
  }
}

function readCopy(path: string): Copy | 'damaged' | undefined {
  if (setAsideUnlessFile(path) !== undefined) return 'damaged';
  if (!existsSync(path)) return undefined;
  const copy = tryParseJson(readFileSync(path, 'utf8'));
  const { text, sha256, before } = isJsonObject(copy) ? copy : {};
  if (typeof text !== 'string' || sha256 !== digestOf(text)) return 'damaged';
  return { text, ...(typeof before === 'string' && { before }) };
}

function writeCopy(path: string, { text, before }: Copy): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 });
  replaceFile(path, `${JSON.stringify({ sha256: digestOf(text), ...(before !== undefined && { before }), text })}\n`);
}

/** Keeps the text of an owner's file in the folder `snapshots`, for what is read before any database is open. A damaged copy counts as none. */
export function acceptedTextInCopy(stateDir: string, path: string): AcceptedText {
  const file = join(stateDir, FOLDER, `${basename(path)}-${fileKey(stateDir, path)}.kept`);
  return {
    get: () => {
      const copy = readCopy(file);
      return typeof copy === 'object' ? copy.text : undefined;
    },
    set: (text) => writeCopy(file, { text }),
    forget: () => {
      rmSync(file, { force: true });
      syncPath(dirname(file));
    },
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
