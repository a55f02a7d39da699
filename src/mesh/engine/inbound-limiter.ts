import type { Clock } from '../../core/clock.ts';

/** What may knock. */
export interface InboundLimits {
  /** Connections a second from one address. */
  readonly perSourcePerSecond: number;
  /** Connections that have not passed the gate yet, from all addresses. */
  readonly pending: number;
}

/** Bounds how often and how many strangers may knock, before a byte of theirs is read. */
export class InboundLimiter {
  readonly #clock: Clock;
  readonly #limits: InboundLimits;
  readonly #knocks = new Map<string, number>();
  #secondEndsMs = Number.NEGATIVE_INFINITY;
  #pending = 0;

  constructor(clock: Clock, limits: InboundLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Lets a connection in, or says why not. What was let in is told to `done` later. */
  enter(host: string): 'entered' | 'inbound_rate' | 'too_many_pending' {
    if (this.#countKnock(host) > this.#limits.perSourcePerSecond) return 'inbound_rate';
    if (this.#pending >= this.#limits.pending) return 'too_many_pending';
    this.#pending += 1;
    return 'entered';
  }

  done(): void {
    this.#pending -= 1;
  }

  #countKnock(host: string): number {
    const nowMs = this.#clock.monotonic();
    if (nowMs >= this.#secondEndsMs) {
      this.#knocks.clear();
      this.#secondEndsMs = nowMs + 1_000;
    }
    const knocks = (this.#knocks.get(host) ?? 0) + 1;
    this.#knocks.set(host, knocks);
    return knocks;
  }
}
