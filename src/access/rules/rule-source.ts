import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { AtmoError } from '../../core/errors.ts';
import { systemCode } from '../../core/process/system-code.ts';

const MAX_BYTES = 1_000_000;
/** Bits of a file's mode with which others than its owner may write it. */
export const WRITABLE_BY_OTHERS = 0o022;

/** The rules file on the disk: its text, and a cheap way to see that it changed. */
export class RuleSource {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  /** Differs whenever content, place or rights of the file may differ; undefined while there is no file. */
  signature(): string | undefined {
    try {
      const stat = statSync(this.file, { throwIfNoEntry: false });
      return stat && `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    } catch {
      return 'out of reach';
    }
  }

  /** Undefined when there is no file; CONFIG_INVALID for one that others could have written, or that is none. */
  read(): string | undefined {
    const descriptor = this.#open();
    if (descriptor === undefined) return undefined;
    try {
      this.#require(fstatSync(descriptor));
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  }

  #open(): number | undefined {
    try {
      // A named pipe would keep the hub waiting for a writer.
      return openSync(this.file, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (cause) {
      if (systemCode(cause) === 'ENOENT') return undefined;
      throw this.#refused('cannot be read; make it readable for the user that runs the hub', cause);
    }
  }

  #require(stat: Stats): void {
    if (!stat.isFile()) throw this.#refused('is no ordinary file');
    if (stat.size > MAX_BYTES) throw this.#refused(`is longer than ${MAX_BYTES} bytes`);
    if ((stat.mode & WRITABLE_BY_OTHERS) !== 0) {
      throw this.#refused(`can be written by others than its owner; run chmod go-w ${this.file}, and see that its rules are yours`);
    }
  }

  #refused(problem: string, cause?: unknown): AtmoError {
    return new AtmoError('CONFIG_INVALID', `${this.file}: the rules file ${problem}`, { file: this.file }, { cause });
  }
}
