import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AtmoError } from '../errors.ts';
import type { HubProblems } from '../health.ts';
import { objectOf, tryParseJson } from '../json.ts';
import type { Logger } from '../logger.ts';
import { attemptWrite, readTextIfExists, replaceFile, setAside, setAsideUnlessFile, syncPath } from './file-system.ts';
import { type AcceptedText, fileKey } from './owner-file.ts';

/** Called after a file was repaired. */
export type OnRepaired = (repair: FileRepair) => void;

/** The repair of a file. */
export interface FileRepair {
  readonly path: string;
  /** What was wrong with the file, such as `is empty`. */
  readonly found: string;
  readonly aside?: string;
  /** What the hub did instead of restoring the copy; absent if it restored the copy. */
  readonly instead?: string;
}

interface RecoverableFileOptions {
  readonly path: string;
  readonly isWhole: (text: string) => boolean;
  readonly onRepaired: OnRepaired;
}

interface Copy {
  readonly text: string;
  /** Digest of the old text while `write` replaces it; absent at all other times. */
  readonly before?: string;
}

const FOLDER = 'snapshots';
const NO_FILE = 'none';

/** Returns the path of a file's copy, for messages that advise to delete both. */
export function backupCopyPath(path: string): string {
  return join(dirname(path), FOLDER, `${basename(path)}.kept`);
}

/** Returns a function that reports repairs in the log and as problems of the hub. */
export function repairReporter({
  logger,
  problems,
}: {
  readonly logger: Logger;
  readonly problems: Pick<HubProblems, 'raise'>;
}): OnRepaired {
  return ({ path, found, aside, instead = 'the copy that was kept is in its place' }) => {
    logger.error('files.file_restored', { path, found, ...(aside !== undefined && { set_aside: aside }) });
    const where = aside === undefined ? '' : ` What was there lies beside it as ${basename(aside)}.`;
    problems.raise(path, `${basename(path)} ${found}; ${instead}.${where}`);
  };
}

/**
 * A small text file, such as a key. The folder `snapshots` beside it has a copy with a checksum. A file that is missing, empty, damaged or
 * outdated is restored from its copy. A file of an older hub has no copy; it is accepted and gets one.
 */
export class RecoverableFile {
  readonly #parts: RecoverableFileOptions;

  constructor(parts: RecoverableFileOptions) {
    this.#parts = parts;
  }

  /** Returns the text; undefined if neither file nor copy exists. Throws STORAGE_FAILED if the copy is damaged and the file is unusable. */
  read(): string | undefined {
    const { path, isWhole } = this.#parts;
    const copy = readCopy(backupCopyPath(path));
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

  /** Replaces the text. After a crash, the file has either the old or the new text. Throws the errors of the file system. */
  write(text: string): void {
    const { path } = this.#parts;
    const before = existsSync(path) ? digestOf(readFileSync(path, 'utf8')) : NO_FILE;
    this.#keep({ text, before });
    replaceFile(path, text);
    this.#keep({ text });
  }

  /** Deletes the copy and then the file, and syncs after each deletion. So the copy never outlives the file and cannot restore it. */
  remove(): void {
    for (const path of [backupCopyPath(this.#parts.path), this.#parts.path]) removeFile(path);
  }

  #repair(copy: Copy, text: string | undefined, folderAside: string | undefined): void {
    const { path, onRepaired } = this.#parts;
    // True if `write` was interrupted before it replaced the file. The file is then not damaged.
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
    // The file is restored if the disk permits it. `read` returns the text of the copy in any case.
    attemptWrite(() => {
      replaceFile(path, copy.text);
      this.#keep({ text: copy.text });
    });
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
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return undefined;
  // A folder in its place stays there until a new copy is written, so that every start finds that the copy was lost.
  if (!found.isFile()) return 'damaged';
  const copy = tryParseJson(readFileSync(path, 'utf8'));
  const { text, sha256, before } = objectOf(copy);
  if (typeof text !== 'string' || sha256 !== digestOf(text)) return 'damaged';
  return { text, ...(typeof before === 'string' && { before }) };
}

function writeCopy(path: string, { text, before }: Copy): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 });
  setAsideUnlessFile(path);
  replaceFile(path, `${JSON.stringify({ sha256: digestOf(text), ...(before !== undefined && { before }), text })}\n`);
}

/** Deletes a file, so that it stays deleted after a power cut. Sets a folder in its place aside. */
function removeFile(path: string): void {
  setAsideUnlessFile(path);
  rmSync(path, { force: true });
  if (existsSync(dirname(path))) syncPath(dirname(path));
}

/** Returns an AcceptedText in the folder `snapshots`. It can be read before the databases are open. */
export function acceptedTextInCopy(stateDir: string, path: string): AcceptedText {
  const file = join(stateDir, FOLDER, `${basename(path)}-${fileKey(stateDir, path)}.kept`);
  return {
    get: () => {
      const copy = readCopy(file);
      return typeof copy === 'object' ? copy.text : undefined;
    },
    wasLost: () => readCopy(file) === 'damaged',
    set: (text) => writeCopy(file, { text }),
    forget: () => removeFile(file),
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
