import type { Clock, TrustedTime } from '../../core/clock.ts';

/** Runs that began within about a minute. */
export interface RecentRuns {
  /** When the last of them began. */
  readonly atMs: number;
  readonly runs: number;
  /** True if the time was not trusted when they were noted, so that `atMs` may be any. */
  readonly isUnsure?: true;
}

/** What an automation says of how often it runs. */
interface RunLimits {
  /** Milliseconds from the start of a run until the next one may start. */
  readonly cooldownMs: number;
  readonly maxRunsPerHour: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/**
 * Computes how soon an automation may run again, by the monotonic clock, so that a change of the wall clock makes no difference. Only what is
 * known after a restart of the hub, `RecentRuns`, is by the wall clock.
 */
export class RunRateLimit {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** The runs of the last hour, and the last run before: a cooldown may be longer than an hour. */
  #starts: readonly number[];

  /** Counts runs before a restart. One in the future, or of a time that was not trusted, counts as one of now. */
  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, recent: readonly RecentRuns[] = []) {
    this.#clock = clock;
    const nowMs = clock.now();
    const aheadMs = clock.monotonic() - nowMs;
    const begin = ({ atMs, isUnsure }: RecentRuns) => (isUnsure ? nowMs : Math.min(atMs, nowMs)) + aheadMs;
    this.#starts = recent.flatMap((one) => Array.from({ length: one.runs }, () => begin(one))).sort((a, b) => a - b);
  }

  /** Returns the milliseconds from a time, now or later, until a run may start; Infinity if the maximum number of runs in the hour before is reached. */
  waitMs(atMs: number, { cooldownMs, maxRunsPerHour }: RunLimits): number {
    const firstOfMost = this.#starts.at(-maxRunsPerHour);
    if (firstOfMost !== undefined && atMs - firstOfMost < HOUR_MS) return Infinity;
    const lastMs = this.#starts.at(-1);
    return lastMs === undefined ? 0 : Math.max(0, lastMs + cooldownMs - atMs);
  }

  /** Counts a run that begins now. Returns what is needed after a restart, at most one entry for each minute of an hour. */
  started(time: Pick<TrustedTime, 'isTrusted'>): readonly RecentRuns[] {
    const nowMs = this.#clock.monotonic();
    this.#starts = [...this.#starts.filter((startMs) => nowMs - startMs < HOUR_MS), nowMs];
    const toWallMs = this.#clock.now() - nowMs;
    const unsure = time.isTrusted() ? {} : ({ isUnsure: true } as const);
    const minutes = Map.groupBy(this.#starts, (startMs) => Math.floor((nowMs - startMs) / MINUTE_MS));
    return [...minutes.values()].map((starts) => ({ atMs: Math.ceil(Math.max(...starts) + toWallMs), runs: starts.length, ...unsure }));
  }
}
