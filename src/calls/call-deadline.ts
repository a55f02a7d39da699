import { TOKEN_SKEW_MS, type TokenFacts } from '../core/auth/principal.ts';
import type { Clock, TrustedTime } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { pollSockets } from '../core/health.ts';
import type { ToolDefinition } from '../tools/definition/tool-definition.ts';
import type { CallRequest } from './request-and-answer.ts';

/** Milliseconds. If a call has waited at least this long, `confirm` lets the event loop run before it checks the deadline. */
const UNCHECKED_WAIT_MS = 20;
/** Number of event-loop turns between the end of a connection and the abort of the caller's signal. */
const TURNS_TO_ABORT = 4;

/** Reason why a call ends early. */
export type EndCause = 'deadline' | 'caller' | 'revoked' | 'stopping';

/** The time limit of a call (`timeoutMs`), and the time that the call waited before the hub received it (`waitedMs`). */
interface TimeLimit {
  readonly timeoutMs: number;
  readonly waitedMs?: number;
}

/**
 * The deadline of a call. Its signal aborts when the time is over, the caller cancels, or `abort` is called. The deadline is checked
 * against both clocks, because timers stop while the machine sleeps, and the monotonic clock too while a virtual machine is paused.
 */
export class CallDeadline {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The time limit as a whole number for messages. The limit of a call from another hub may be a fraction. */
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

  /** The deadline by the monotonic clock, which comes earlier if the wall clock was set forward since the call began. */
  get untilMs(): number {
    return this.#clock.monotonic() + this.remainingMs;
  }

  /** Throws the call's error if the deadline has passed or the call was aborted. Does not rely on the timer, which may be late. */
  throwIfOver(): void {
    if (this.remainingMs === 0) this.#end('deadline');
    this.signal.throwIfAborted();
  }

  /**
   * Rejects if the deadline has passed or the call was aborted. If the call has waited for at least 20 ms since `sinceMs` (monotonic
   * clock), lets the event loop run first: it may still have to process the event that the caller has disconnected.
   */
  async confirm(sinceMs: number): Promise<void> {
    if (this.#clock.monotonic() - sinceMs >= UNCHECKED_WAIT_MS) await pollSockets(TURNS_TO_ABORT);
    this.throwIfOver();
  }

  /** Returns the error of a call that ended early and had no effect. */
  error(): AtmoError {
    if (this.#cause === 'caller') return new AtmoError('CANCELLED', 'The caller cancelled the call');
    if (this.#cause === 'revoked') return new AtmoError('CANCELLED', 'The call was ended: its caller may no longer make it');
    // The code is not SHUTTING_DOWN, because another hub would then repeat the call, although the call has already begun here.
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

/** The clocks of the hub, and the default time limit of tools. */
export interface TimeLimitContext {
  readonly clock: Clock;
  readonly defaultTimeoutMs: number;
  readonly time: Pick<TrustedTime, 'now'>;
}

/**
 * Returns the milliseconds that a call may take. This is the shortest of four times: the caller's timeout, the tool's time limit, the
 * remaining lifetime of the token, and the time until the deadline of the outer call (`parentDeadlineMs`).
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

/** Returns the milliseconds until the token expires. If it has expired, returns the milliseconds until TOKEN_SKEW_MS has passed too. */
function remainingTokenMs({ expiresAtMs }: TokenFacts, nowMs: number): number {
  return expiresAtMs > nowMs ? expiresAtMs - nowMs : expiresAtMs + TOKEN_SKEW_MS - nowMs;
}

/** Waits until `promise` resolves, the caller's timeout has passed or the caller aborts. Used while the tool's limit is unknown. */
export async function waitForAtMost({ timeoutMs, signal }: CallRequest, clock: Clock, promise: Promise<void>): Promise<void> {
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const cancel = timeoutMs !== undefined && timeoutMs > 0 ? clock.after(timeoutMs, resolve) : undefined;
  const giveUp = () => resolve();
  signal?.addEventListener('abort', giveUp);
  if (!signal?.aborted) await Promise.race([promise, isOver]);
  cancel?.();
  signal?.removeEventListener('abort', giveUp);
}
