import type { Clock } from '../../../core/time/clock.ts';

/** What may knock. */
export interface InboundLimits {
  /** Connections a second from one address. */
  readonly perSourcePerSecond: number;
  /** Connections that have not passed the gate yet, from all addresses. */
  readonly pending: number;
}

/** Connections of one address that were refused within the time of `FAILURES_MS` before it is let in less often. */
const FAILURES_ALLOWED = 5;
/** Then so many a second are let in: who shares the address with an attacker still gets through. */
const PER_SECOND_AFTER_FAILURES = 4;
const FAILURES_MS = 10_000;

/** Bounds how often and how many strangers may knock, before a byte of theirs is read. */
export class InboundLimiter {
  readonly #limits: InboundLimits;
  readonly #knocks: Tally;
  readonly #failures: Tally;
  #pending = 0;

  constructor(clock: Clock, limits: InboundLimits) {
    this.#limits = limits;
    this.#knocks = new Tally(clock, 1_000);
    this.#failures = new Tally(clock, FAILURES_MS);
  }

  /** Lets a connection in, or says why not. What was let in is told to `done` later. */
  enter(host: string): 'entered' | 'inbound_rate' | 'too_many_pending' {
    if (this.#knocks.count(host) > this.#allowed(host)) return 'inbound_rate';
    if (this.#pending >= this.#limits.pending) return 'too_many_pending';
    this.#pending += 1;
    return 'entered';
  }

  done(): void {
    this.#pending -= 1;
  }

  /** A connection of the address did not become one. */
  failed(host: string): void {
    this.#failures.count(host);
  }

  #allowed(host: string): number {
    const { perSourcePerSecond } = this.#limits;
    const hasFailed = this.#failures.of(host) >= FAILURES_ALLOWED;
    return hasFailed ? Math.min(PER_SECOND_AFTER_FAILURES, perSourcePerSecond) : perSourcePerSecond;
  }
}

/** Counts by name, anew in each period. */
class Tally {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #counts = new Map<string, number>();
  #endsMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  of(name: string): number {
    const nowMs = this.#clock.monotonic();
    if (nowMs >= this.#endsMs) {
      this.#counts.clear();
      this.#endsMs = nowMs + this.#periodMs;
    }
    return this.#counts.get(name) ?? 0;
  }

  count(name: string): number {
    const count = this.of(name) + 1;
    this.#counts.set(name, count);
    return count;
  }
}
