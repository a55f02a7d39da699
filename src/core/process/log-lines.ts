import type { LogLevel } from '../logger.ts';

const URGENT: ReadonlySet<LogLevel> = new Set(['warn', 'error']);

/**
 * Lines of a log on their way to a file, a pipe or a terminal. Each write wakes who reads the other end: lines that say that all is
 * well wait for the end of the turn, so that a caller has its answer first, and go out together. A warning takes them along at once.
 */
export class LogLines {
  readonly #write: (text: string) => void;
  #waiting = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(line: string, level: LogLevel): void {
    if (this.#waiting === '') setImmediate(() => this.flush());
    this.#waiting += line;
    if (URGENT.has(level)) this.flush();
  }

  /** Writes what waits; also to be called when the process ends. */
  flush(): void {
    if (this.#waiting === '') return;
    const text = this.#waiting;
    this.#waiting = '';
    this.#write(text);
  }
}
