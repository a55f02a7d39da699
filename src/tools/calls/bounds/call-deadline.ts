import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { pollSockets } from '../../../core/time/standstill.ts';

/** Within so short a time nothing is missed that matters. */
const UNSEEN_MS = 20;
/** From the end of a connection to the abort of the signal that stands for it. */
const TURNS_TO_ABORT = 4;

/** Why a call has to end early. */
export type EndCause = 'deadline' | 'caller' | 'revoked' | 'stopping';

/** How long a call may take, and how much of that was over before the hub saw it; in milliseconds. */
export interface TimeLimit {
  readonly timeoutMs: number;
  readonly waitedMs?: number;
}

/**
 * The time that one call has: its signal aborts at the deadline and when the caller gives up. It counts by the wall clock too, since
 * the monotonic one, and every timer with it, stands still while the machine sleeps.
 */
export class CallDeadline {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** In whole milliseconds, for people: what is left of a call that comes from another hub is a fraction. */
  readonly timeoutMs: number;
  readonly #atMonotonicMs: number;
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #stopTimer: () => void;
  readonly #cancel = () => this.#end('caller');
  #cause: EndCause | undefined;

  constructor(clock: Clock, { timeoutMs, waitedMs = 0 }: TimeLimit, outer?: AbortSignal) {
    const leftMs = Math.max(0, timeoutMs - waitedMs);
    this.#clock = clock;
    this.timeoutMs = Math.round(timeoutMs);
    this.atMs = clock.now() + leftMs;
    this.#atMonotonicMs = clock.monotonic() + leftMs;
    this.#outer = outer;
    this.#stopTimer = clock.after(leftMs, () => this.#end('deadline'));
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
    return Math.max(0, Math.min(this.atMs - this.#clock.now(), this.#atMonotonicMs - this.#clock.monotonic()));
  }

  /** Throws why the call has to end, also where no timer has run yet since its time was over. */
  throwIfOver(): void {
    if (this.remainingMs === 0) this.#end('deadline');
    this.signal.throwIfAborted();
  }

  /**
   * The same for a call that has waited since `sinceMs` of the monotonic clock: no event may have said yet that its caller left,
   * most of all where the process stood still meanwhile.
   */
  async confirm(sinceMs: number): Promise<void> {
    if (this.#clock.monotonic() - sinceMs >= UNSEEN_MS) await pollSockets(TURNS_TO_ABORT);
    this.throwIfOver();
  }

  /** What a call answers that ended early and left nothing behind. */
  error(): AtmoError {
    if (this.#cause === 'caller') return new AtmoError('CANCELLED', 'The caller cancelled the call');
    if (this.#cause === 'revoked') return new AtmoError('CANCELLED', 'The call was ended: its caller may no longer make it');
    // Not SHUTTING_DOWN: the call had begun, and other hubs make one elsewhere that was refused so.
    if (this.#cause === 'stopping') return new AtmoError('CANCELLED', 'The call was ended: the hub is stopping');
    return new AtmoError('TIMEOUT', `The call was not done within ${this.timeoutMs} ms; nothing of it takes effect later`);
  }

  /** Ends the call because its caller may no longer make it, or because the hub does not wait for it when it stops. */
  cut(cause: 'revoked' | 'stopping'): void {
    this.#end(cause);
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
