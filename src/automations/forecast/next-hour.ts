import type { CheckPorts } from '../automation-ports.ts';
import { minuteOfWeek, type Situations } from '../check/situations.ts';

const MINUTE_MS = 60_000;
const MINUTES = 60;
/** Maximum number of searches for a next moment, each of which takes up to half a millisecond. */
const MAX_SEARCHES = 4;

/** Moments that follow each other, in milliseconds since 1970. */
export interface Series {
  readonly firstMs: number;
  /** Returns the first moment after another one; undefined if there is none. */
  readonly nextAfter: (afterMs: number) => number | undefined;
}

/** When something comes; not known if the searches of the forecast are used up. */
export interface Moment {
  readonly atMs: number | undefined;
}

/** Which minutes of the hour belong to something, from the minute in which it begins on. */
export type Minutes = readonly boolean[];

/** The 60 minutes from now on, with their place in the week of the hub's zone. Times are in milliseconds since 1970. */
export class NextHour {
  readonly startMs: number;
  readonly endMs: number;
  /** Minute of the week of the minute in which the hour begins, and of the next 60. */
  readonly #weekMinutes: readonly number[];
  /** The smallest and the greatest of them. */
  readonly #first: number;
  readonly #last: number;
  readonly #minutes = new Map<Situations, Minutes>();
  #searchesLeft = MAX_SEARCHES;

  constructor({ clock, timeZone }: Pick<CheckPorts, 'clock' | 'timeZone'>) {
    this.startMs = clock.now();
    this.endMs = this.startMs + MINUTES * MINUTE_MS;
    const firstMs = this.startMs - (this.startMs % MINUTE_MS);
    this.#weekMinutes = Array.from({ length: MINUTES + 1 }, (_, index) => minuteOfWeek(firstMs + index * MINUTE_MS, timeZone));
    this.#first = Math.min(...this.#weekMinutes);
    this.#last = Math.max(...this.#weekMinutes);
  }

  /** Returns the minutes of the hour that are in the times of some of the situations. */
  minutesIn(situations: Situations): Minutes {
    const minutes = this.#minutes.get(situations) ?? this.#minutesIn(situations);
    this.#minutes.set(situations, minutes);
    return minutes;
  }

  #minutesIn(situations: Situations): Minutes {
    const near = situations.flatMap(({ times }) => times.filter(({ from, to }) => from <= this.#last && to > this.#first));
    return this.#weekMinutes.map((minute) => near.some(({ from, to }) => from <= minute && minute < to));
  }

  /** Returns whether a moment is in one of the minutes. */
  isIn(minutes: Minutes, atMs: number): boolean {
    return minutes[Math.floor(atMs / MINUTE_MS) - Math.floor(this.startMs / MINUTE_MS)] ?? false;
  }

  /** Returns the first moment of a series that passes the test; undefined if none does up to `untilMs`. Minutes in which none would are skipped. */
  firstOf({ firstMs, nextAfter }: Series, untilMs: number, passes: (atMs: number) => boolean): Moment | undefined {
    let atMs: number | undefined = firstMs;
    while (atMs !== undefined && atMs <= untilMs) {
      if (passes(atMs)) return { atMs };
      const minuteMs = this.#nextMinute(atMs, { untilMs, passes });
      if (minuteMs === undefined) return undefined;
      if (this.#searchesLeft-- <= 0) return { atMs: undefined };
      atMs = nextAfter(minuteMs - 1);
    }
    return undefined;
  }

  /** Returns the next moment from which on the rest of its minute passes the test, at its start or its end. */
  #nextMinute(afterMs: number, { untilMs, passes }: { readonly untilMs: number; readonly passes: (atMs: number) => boolean }) {
    for (let atMs = afterMs + 1; atMs <= untilMs; atMs = minuteAfter(atMs)) {
      if (passes(atMs) || passes(minuteAfter(atMs) - 1)) return atMs;
    }
    return undefined;
  }
}

function minuteAfter(atMs: number): number {
  return atMs - (atMs % MINUTE_MS) + MINUTE_MS;
}
