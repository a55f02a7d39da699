import { type Principal, principalKey } from '../../../core/access/principal.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';

/** A session in which nothing was called for so long is over. */
const IDLE_MS = 3_600_000;
const MAX_SESSIONS = 4_096;

interface Session {
  readonly calls: number;
  readonly lastMs: number;
}

/**
 * Bounds the calls of one session, so that a model which goes round in circles comes to an end (source 004, max_steps). It
 * guards against loops alone: a caller that makes up sessions is bounded by its rate.
 */
export class SessionBound {
  readonly #clock: Clock;
  readonly #maxCalls: number;
  /** The one that called last stands last. */
  readonly #sessions = new Map<string, Session>();

  constructor(clock: Clock, options: { readonly maxCalls: number }) {
    this.#clock = clock;
    this.#maxCalls = options.maxCalls;
  }

  /** Sessions that are remembered. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Counts one call; RATE_LIMITED when the session has made all of its calls. A call without a session is not counted. */
  charge(principal: Principal, sessionId: string | undefined): void {
    if (sessionId === undefined || this.#maxCalls === Number.POSITIVE_INFINITY) return;
    const key = JSON.stringify([principalKey(principal), sessionId]);
    const nowMs = this.#clock.monotonic();
    const known = this.#sessions.get(key);
    const calls = known && nowMs - known.lastMs < IDLE_MS ? known.calls : 0;
    if (known && calls >= this.#maxCalls) throw this.#refusal(IDLE_MS - (nowMs - known.lastMs));
    this.#sessions.delete(key);
    this.#sessions.set(key, { calls: calls + 1, lastMs: nowMs });
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
  }

  #refusal(retryAfterMs: number): AtmoError {
    return new AtmoError(
      'RATE_LIMITED',
      `This session has made all of its ${this.#maxCalls} calls; end it and tell a person what it was after, or begin another session`,
      { max_calls: this.#maxCalls, retry_after_ms: Math.ceil(retryAfterMs) },
    );
  }
}
