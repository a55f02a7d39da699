import { WEEKDAYS, type Weekday } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';

const DAY_MINUTES = 1440;
const WEEK_MINUTES = 7 * DAY_MINUTES;
const MINUTE_MS = 60_000;

/** Minutes since Monday 00:00 by the wall clock of a place, 0 to 10,079. */
export type MinuteOfWeek = number;

/** Times of the week, minute by minute: what days and times of day of a rule come to. */
export class WeekTimes {
  readonly #minutes = new Uint8Array(WEEK_MINUTES);

  /** Adds a window that begins on the day and ends at `to`, on the next day when that is not after `from`; minutes of the day. */
  add(day: Weekday, from: number, to: number): void {
    const start = WEEKDAYS.indexOf(day) * DAY_MINUTES;
    const end = to > from ? to : to + DAY_MINUTES;
    for (let minute = start + from; minute < start + end; minute++) this.#minutes[minute % WEEK_MINUTES] = 1;
  }

  has(minute: MinuteOfWeek): boolean {
    return this.#minutes[minute] === 1;
  }

  /** True when every minute of the other is one of these; without another, of the whole week. */
  includes(other: WeekTimes | undefined): boolean {
    return this.#minutes.every((isIn, minute) => isIn === 1 || (other !== undefined && !other.has(minute)));
  }
}

/** `22:00` as minutes of the day, `24:00` as the end of it; undefined for other text. */
export function timeOfDay(text: string): number | undefined {
  const match = /^(\d{1,2}):([0-5]\d)$/.exec(text);
  const minutes = Number(match?.[1]) * 60 + Number(match?.[2]);
  return match && minutes <= DAY_MINUTES ? minutes : undefined;
}

/** `fri 22:30` for people. */
export function shownMinute(minute: MinuteOfWeek): string {
  const ofDay = minute % DAY_MINUTES;
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${WEEKDAYS[Math.floor(minute / DAY_MINUTES)] ?? ''} ${two(Math.floor(ofDay / 60))}:${two(ofDay % 60)}`;
}

/** The wall clock of an IANA time zone, summer time included. */
export class ZoneClock {
  #zone: string | undefined;
  #format: Intl.DateTimeFormat | undefined;
  #knownMinute = Number.NaN;
  #known: MinuteOfWeek = 0;

  /** The system's own zone when none is named; RangeError for a name that is no zone. */
  constructor(zone?: string) {
    this.#zone = zone;
    // The tables of zones take a while to load: a hub without rules about time never asks for them.
    if (zone !== undefined) this.#format = formatOf(zone);
  }

  get zone(): string {
    this.#zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
    return this.#zone;
  }

  at(nowMs: number): MinuteOfWeek {
    // Zones change at whole minutes of UTC: within one, the answer stays the same.
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#knownMinute) {
      this.#known = this.#compute(minute * MINUTE_MS);
      this.#knownMinute = minute;
    }
    return this.#known;
  }

  /** An ISO 8601 time with its offset, or `[day ]HH:MM` by this clock; VALIDATION_ERROR. */
  parse(text: string, nowMs: number): MinuteOfWeek {
    const clock = /^(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*\s+)?(\d{1,2}:\d{2})$/i.exec(text.trim());
    const ofDay = timeOfDay(clock?.[2] ?? '');
    if (clock && ofDay !== undefined && ofDay < DAY_MINUTES) {
      const day = clock[1] ? WEEKDAYS.indexOf(clock[1].toLowerCase() as Weekday) : Math.floor(this.at(nowMs) / DAY_MINUTES);
      return day * DAY_MINUTES + ofDay;
    }
    const isExact = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
    const ms = isExact ? Date.parse(text) : Number.NaN;
    if (!Number.isNaN(ms)) return this.#compute(ms);
    throw new AtmoError(
      'VALIDATION_ERROR',
      `${JSON.stringify(text.slice(0, 40))} is no time; give 22:30, "fri 22:30" or 2026-01-31T22:30:00Z`,
      {
        pointer: '/at',
      },
    );
  }

  #compute(ms: number): MinuteOfWeek {
    this.#format ??= formatOf(this.zone);
    const parts = new Map(this.#format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const day = WEEKDAYS.indexOf((parts.get('weekday') ?? '').toLowerCase() as Weekday);
    return day * DAY_MINUTES + Number(parts.get('hour')) * 60 + Number(parts.get('minute'));
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}
