import { TOKEN_SKEW_MS, type TokenFacts } from '../core/auth/principal.ts';
import type { Clock, TrustedTime } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { pollSockets } from '../core/health.ts';
import type { ToolDefinition } from '../tools/definition/tool-definition.ts';
import type { CallRequest } from './request-and-answer.ts';

/** Milliseconds of waiting below which `confirm` checks the deadline without first letting the event loop run. */
const UNCHECKED_WAIT_MS = 20;
/** Number of event-loop turns between the end of a connection and the abort of the caller's signal. */
const TURNS_TO_ABORT = 4;

/** Reason why a call ends early. */
export type EndCause = 'deadline' | 'caller' | 'revoked' | 'stopping';

/** Time limit of a call, and the time that had passed before the hub received the call, in milliseconds. */
interface TimeLimit {
  readonly timeoutMs: number;
  readonly waitedMs?: number;
}

/**
 * The deadline of a call. Its signal aborts when the time is over, the caller cancels, or `abort` is called. The deadline is checked
 * against the wall clock too, because the monotonic clock and all timers stop while the machine sleeps.
 */
export class CallDeadline {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The time limit, rounded because messages show it and the limit of a call from another hub may be a fraction. */
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

  /** Throws the call's error if the deadline is over or the call was aborted, even if its timer has not run yet. */
  throwIfOver(): void {
    if (this.remainingMs === 0) this.#end('deadline');
    this.signal.throwIfAborted();
  }

  /**
   * Rejects if the deadline is over or the call was aborted. If the call has waited since `sinceMs` (monotonic clock) for at least 20 ms,
   * first lets the event loop run, because the event that the caller disconnected may still be queued.
   */
  async confirm(sinceMs: number): Promise<void> {
    if (this.#clock.monotonic() - sinceMs >= UNCHECKED_WAIT_MS) await pollSockets(TURNS_TO_ABORT);
    this.throwIfOver();
  }

  /** Returns the error of a call that ended early and had no effect. */
  error(): AtmoError {
    if (this.#cause === 'caller') return new AtmoError('CANCELLED', 'The caller cancelled the call');
    if (this.#cause === 'revoked') return new AtmoError('CANCELLED', 'The call was ended: its caller may no longer make it');
    // The code is not SHUTTING_DOWN: other hubs repeat a call that is refused with SHUTTING_DOWN, but this call has already begun.
    if (this.#cause === 'stopping') return new AtmoError('CANCELLED', 'The call was ended: the hub is stopping');
    return new AtmoError('TIMEOUT', `The call was not done within ${this.timeoutMs} ms; nothing of it takes effect later`);
  }

  /** Ends the call because its caller may no longer make it, or because the hub is stopping. */
  abort(cause: 'revoked' | 'stopping'): void {
    this.#end(cause);
  }

  /** Stops the timer; the signal keeps its state. */
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

/** The default time limit of tools, and the hub's clock. */
export interface TimeLimitContext {
  readonly clock: Clock;
  readonly defaultTimeoutMs: number;
  readonly time: Pick<TrustedTime, 'now'>;
}

/**
 * Returns the milliseconds that a call may take: the smallest of the caller's timeout, the tool's maximum, the remaining lifetime of the
 * token and the time until the deadline of the outer call (`parentDeadlineMs`).
 */
export function timeLimitMs(
  { execution: { timeoutMs, isTimeoutDefault } }: ToolDefinition,
  { principal, timeoutMs: asked }: CallRequest,
  { clock, defaultTimeoutMs, time, parentDeadlineMs = Number.POSITIVE_INFINITY }: TimeLimitContext & { readonly parentDeadlineMs?: number },
): number {
  const ofTool = isTimeoutDefault ? defaultTimeoutMs : timeoutMs;
  const ofToken = principal.token ? remainingTokenMs(principal.token, time.now()) : ofTool;
  return Math.max(0, Math.min(asked ?? ofTool, ofTool, ofToken, parentDeadlineMs - clock.now()));
}

/** Returns the milliseconds until the token expires. After the expiry, returns the rest of the permitted clock difference. */
function remainingTokenMs({ expiresAtMs }: TokenFacts, nowMs: number): number {
  return expiresAtMs > nowMs ? expiresAtMs - nowMs : expiresAtMs + TOKEN_SKEW_MS - nowMs;
}

/** Waits until `promise` resolves, at most until the caller's timeout or abort. It is used while the tool's time limit is unknown. */
export async function waitForAtMost({ timeoutMs, signal }: CallRequest, clock: Clock, promise: Promise<void>): Promise<void> {
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const cancel = timeoutMs !== undefined && timeoutMs > 0 ? clock.after(timeoutMs, resolve) : undefined;
  const giveUp = () => resolve();
  signal?.addEventListener('abort', giveUp);
  if (!signal?.aborted) await Promise.race([promise, isOver]);
  cancel?.();
  signal?.removeEventListener('abort', giveUp);
}
