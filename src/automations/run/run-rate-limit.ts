import type { Clock } from '../../core/clock.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';

/** Runs that began within about a minute. */
export interface RecentRuns {
  /** When the last of them began. */
  readonly atMs: number;
  readonly runs: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Computes how soon an automation may run again. Times are by the monotonic clock, except in `RecentRuns`. */
export class RunRateLimit {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** The runs of the last hour, and the last run before: a cooldown may be longer than an hour. */
  #starts: readonly number[] = [];

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** Counts earlier runs, such as those before a restart. A run in the future counts as one of now, because the clock was wrong then or is now. */
  resume(recent: readonly RecentRuns[]): void {
    const nowMs = this.#clock.now();
    const aheadMs = this.#clock.monotonic() - nowMs;
    const starts = recent.flatMap(({ atMs, runs }) => Array.from({ length: runs }, () => Math.min(atMs, nowMs) + aheadMs));
    this.#starts = starts.sort((a, b) => a - b);
  }

  /** Returns the milliseconds from a time, now or later, until a run may start; Infinity if the maximum number of runs in the hour before is reached. */
  waitMs(atMs: number, { cooldownMs, maxRunsPerHour }: AutomationPlan): number {
    const firstOfMost = this.#starts.at(-maxRunsPerHour);
    if (firstOfMost !== undefined && atMs - firstOfMost < HOUR_MS) return Infinity;
    const lastMs = this.#starts.at(-1);
    return lastMs === undefined ? 0 : Math.max(0, lastMs + cooldownMs - atMs);
  }

  /** Counts a run that begins now. Returns the runs that `resume` needs after a restart, at most one entry for each minute of an hour. */
  started(): readonly RecentRuns[] {
    const nowMs = this.#clock.monotonic();
    this.#starts = [...this.#starts.filter((startMs) => nowMs - startMs < HOUR_MS), nowMs];
    const toWallMs = this.#clock.now() - nowMs;
    const minutes = Map.groupBy(this.#starts, (startMs) => Math.floor((nowMs - startMs) / MINUTE_MS));
    return [...minutes.values()].map((starts) => ({ atMs: Math.ceil(Math.max(...starts) + toWallMs), runs: starts.length }));
  }
}
