import { terminalText } from '../../core/untrusted-text.ts';
import { cutText } from './text-width.ts';

/** Calls `run` every `ms` milliseconds. Returns a function that stops the calls. */
export type Ticker = (ms: number, run: () => void) => () => void;

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
/** The spinner appears at this tick of its timer. Work that ends earlier shows no spinner. */
const FIRST_FRAME = 3;
const DEFAULT_COLUMNS = 80;
const CLEAR_LINE = '\r\u001b[2K';

/** Shows the current step of running work and the time so far on one line of the terminal. Removes the line when the work ends. */
export class Spinner implements Disposable {
  readonly #sink: TextSink;
  readonly #stop: () => void;
  #text: string;
  #ticks = 0;

  constructor(sink: TextSink, text: string, every: Ticker) {
    this.#sink = sink;
    this.#text = text;
    this.#stop = every(FRAME_MS, () => this.#tick());
  }

  /** Sets the current step. */
  update(text: string): void {
    this.#text = text;
  }

  /** Removes the line and calls `print`, whose output stays. The next tick shows the line again. */
  whileHidden(print: () => void): void {
    if (this.#ticks >= FIRST_FRAME) this.#sink.write(CLEAR_LINE);
    print();
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.whileHidden(() => {});
  }

  #tick(): void {
    if (++this.#ticks < FIRST_FRAME) return;
    const seconds = Math.floor((this.#ticks * FRAME_MS) / 1000);
    const age = seconds > 0 ? ` (${seconds} s)` : '';
    const text = terminalText(this.#text).replaceAll('\n', ' ');
    const width = (this.#sink.columns ?? DEFAULT_COLUMNS) - age.length - 3;
    this.#sink.write(`${CLEAR_LINE}${FRAMES[this.#ticks % FRAMES.length]} ${cutText(text, width)}${age}`);
  }
}

/** A ticker with an interval timer that does not keep the process alive. */
export const everyInterval: Ticker = (ms, run) => {
  const timer = setInterval(run, ms).unref();
  return () => clearInterval(timer);
};

/** Something that text can be written to, such as a stream of the process. */
export interface TextSink {
  write(text: string): unknown;
  /** True for a terminal. */
  readonly isTTY?: boolean;
  /** Width of the terminal, in columns. */
  readonly columns?: number;
}
