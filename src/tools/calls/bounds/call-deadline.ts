import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';

/** Why a call has to end early. */
export type EndCause = 'deadline' | 'caller' | 'revoked';

/** The time that one call has: its signal aborts at the deadline and when the caller gives up. */
export class CallDeadline {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly timeoutMs: number;
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #stopTimer: () => void;
  readonly #cancel = () => this.#end('caller');
  #cause: EndCause | undefined;

  constructor(clock: Clock, timeoutMs: number, outer?: AbortSignal) {
    this.#clock = clock;
    this.timeoutMs = timeoutMs;
    this.atMs = clock.now() + timeoutMs;
    this.#outer = outer;
    this.#stopTimer = clock.after(timeoutMs, () => this.#end('deadline'));
    if (outer?.aborted) this.#end('caller');
    else outer?.addEventListener('abort', this.#cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get cause(): EndCause | undefined {
    return this.#cause;
  }

  get remainingMs(): number {
    return Math.max(0, this.atMs - this.#clock.now());
  }

  /** What a call answers that ended early and left nothing behind. */
  error(): AtmoError {
    if (this.#cause === 'caller') return new AtmoError('CANCELLED', 'The caller cancelled the call');
    if (this.#cause === 'revoked') return new AtmoError('CANCELLED', 'The call was ended: its caller may no longer make it');
    return new AtmoError('TIMEOUT', `The call was not done within ${this.timeoutMs} ms; nothing of it takes effect later`);
  }

  /** Ends the call because its caller may no longer make it. */
  revoke(): void {
    this.#end('revoked');
  }

  /** Stops the timer; the signal stays as it is. */
  [Symbol.dispose](): void {
    this.#stopTimer();
    this.#outer?.removeEventListener('abort', this.#cancel);
  }

  #end(cause: EndCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.#controller.abort(this.error());
  }
}
