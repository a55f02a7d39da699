import type { Clock } from '../../core/time/clock.ts';

interface SilenceParts {
  readonly clock: Clock;
  readonly limitMs: number;
  /** When the node last answered any call, on the monotonic clock; undefined before the first answer. */
  readonly answeredMs: () => number | undefined;
}

/**
 * How long a call waits for a node that is silent: `limitMs`. While the call stands in line behind others, their answers show that
 * the node is there; once it is sent, only its own answer counts.
 */
export class SilenceLimit implements Disposable {
  readonly #parts: SilenceParts;
  readonly #startedMs: number;
  readonly #controller = new AbortController();
  #isInLine = true;
  #cancel: () => void;

  constructor(parts: SilenceParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.monotonic();
    this.#cancel = parts.clock.after(parts.limitMs, () => this.#due());
  }

  /** Aborts when the node has been silent for too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The call has come to its turn. */
  leaveLine(): void {
    this.#isInLine = false;
    this.#wait();
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  #due(): void {
    if (this.#isInLine && this.#leftMs() > 0) this.#wait();
    else this.#controller.abort();
  }

  #wait(): void {
    this.#cancel();
    this.#cancel = this.#parts.clock.after(Math.max(this.#leftMs(), 0), () => this.#due());
  }

  #leftMs(): number {
    const { clock, limitMs, answeredMs } = this.#parts;
    return Math.max(this.#startedMs, answeredMs() ?? this.#startedMs) + limitMs - clock.monotonic();
  }
}
