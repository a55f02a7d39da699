import type { Clock, TrustedTime } from '../../core/clock.ts';

/** Largest step back of the wall clock that does not end a period. */
const CLOCK_SKEW_MS = 60_000;

/** A period by the hub's trusted time, in milliseconds since 1970. */
export interface Period {
  readonly fromMs: number;
  readonly endsMs: number;
}

interface LifetimeServices {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Computes what is left of periods. While the process runs, a period also ends by the monotonic clock, so that a change of the wall clock
 * does not prolong it. A wall clock that is from before a period ends the period.
 */
export class Lifetimes {
  readonly #services: LifetimeServices;
  readonly #deadlines = new Map<string, Period & { readonly deadlineMs: number }>();

  constructor(services: LifetimeServices) {
    this.#services = services;
  }

  /** Starts to count a period by the monotonic clock. Does nothing if the period under this key is the same as before. */
  watch(key: string, { fromMs, endsMs }: Period): void {
    const known = this.#deadlines.get(key);
    if (known?.endsMs === endsMs && known.fromMs === fromMs) return;
    const { time, clock } = this.#services;
    const leftMs = Math.min(endsMs - time.now(), endsMs - fromMs);
    this.#deadlines.set(key, { fromMs, endsMs, deadlineMs: clock.monotonic() + leftMs });
  }

  /** Returns the milliseconds until the period under this key ends; 0 or less if it has ended or is not watched. */
  remainingMs(key: string): number {
    const { time, clock } = this.#services;
    const nowMs = time.now();
    const period = this.#deadlines.get(key);
    // The wall clock was set back by an unknown time, so the period counts as over.
    if (!period || nowMs < period.fromMs - CLOCK_SKEW_MS) return 0;
    return Math.min(period.endsMs - nowMs, period.deadlineMs - clock.monotonic());
  }

  forget(key: string): void {
    this.#deadlines.delete(key);
  }
}
