import { type Clock, WEEKDAYS, type Weekday } from './clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const DAYS_AHEAD = 8;
/** A quarter of an hour. */
const SLOT_MS = 900_000;
const formats = new Map<string, Intl.DateTimeFormat>();
/** The difference of each time zone to UTC in the quarter of an hour that was asked for last. */
const lastOffsets = new Map<string, { readonly slot: number; readonly offsetMs: number }>();

/** A moment in a time zone. */
export interface LocalTime {
  readonly day: Weekday;
  /** Minutes since local midnight. */
  readonly minutes: number;
}

/** Returns whether a name is a time zone of this machine's time zone database. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Returns the local time of a moment (milliseconds since 1970). */
export function localTimeAt(atMs: number, timeZone: string): LocalTime {
  const wallMs = wallTimeOf(atMs, timeZone);
  return { day: dayOf(wallMs), minutes: Math.floor((wallMs % DAY_MS) / MINUTE_MS) };
}

/** Returns whether two moments (milliseconds since 1970) have the same local date. */
export function isSameLocalDay(oneMs: number, otherMs: number, timeZone: string): boolean {
  return Math.floor(wallTimeOf(oneMs, timeZone) / DAY_MS) === Math.floor(wallTimeOf(otherMs, timeZone) / DAY_MS);
}

/** Returns the minutes from midnight to the time `HH:MM`. */
export function minutesOf(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

/** Returns the time of day `HH:MM` that is a number of minutes after a midnight. */
export function timeOfDay(minutes: number): string {
  const two = (part: number) => String(part).padStart(2, '0');
  return `${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
}

/**
 * Returns the first moment after `afterMs` at which the local time is `HH:MM` on one of `days`; undefined if `days` is empty. If the clock
 * skips the time in spring, the time moves, such as from 02:30 to 03:30. If it occurs twice in autumn, the first counts (RFC 5545 §3.3.5).
 */
export function nextLocalTime(
  { at, days = WEEKDAYS, timeZone }: { readonly at: string; readonly days?: readonly Weekday[] | undefined; readonly timeZone: string },
  afterMs: number,
): number | undefined {
  const wallNowMs = wallTimeOf(afterMs, timeZone);
  const midnightMs = wallNowMs - (wallNowMs % DAY_MS);
  for (let ahead = 0; ahead <= DAYS_AHEAD; ahead++) {
    const wallMs = midnightMs + ahead * DAY_MS + minutesOf(at) * MINUTE_MS;
    if (!days.includes(dayOf(wallMs))) continue;
    const atMs = momentOf(wallMs, timeZone);
    if (atMs > afterMs) return atMs;
  }
  return undefined;
}

/** Returns the local time as if it were a time in UTC, in milliseconds since 1970. */
function wallTimeOf(atMs: number, timeZone: string): number {
  return Math.floor(atMs / 1000) * 1000 + offsetAt(atMs, timeZone);
}

function computedWallTime(atMs: number, timeZone: string): number {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Returns the moment of a local time; the first if it occurs twice. A skipped time is converted with the offset before the change. */
export function momentOf(wallMs: number, timeZone: string): number {
  const before = offsetAt(wallMs - DAY_MS, timeZone);
  const after = offsetAt(wallMs + DAY_MS, timeZone);
  const fitting = [wallMs - before, wallMs - after].filter((atMs) => wallTimeOf(atMs, timeZone) === wallMs);
  return fitting.length > 0 ? Math.min(...fitting) : wallMs - before;
}

/**
 * Returns the milliseconds by which the clocks of a time zone are ahead of UTC. Since 1972, clocks change at a quarter of an hour of UTC, so
 * that the difference of the last quarter is kept: finding it takes long.
 */
export function offsetAt(atMs: number, timeZone: string): number {
  const slot = Math.floor(atMs / SLOT_MS);
  const known = lastOffsets.get(timeZone);
  if (known?.slot === slot) return known.offsetMs;
  const offsetMs = computedWallTime(slot * SLOT_MS, timeZone) - slot * SLOT_MS;
  lastOffsets.set(timeZone, { slot, offsetMs });
  return offsetMs;
}

function dayOf(wallMs: number): Weekday {
  return WEEKDAYS[(new Date(wallMs).getUTCDay() + 6) % 7] ?? 'mon';
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', calendar: 'gregory', ...numeric });
  formats.set(timeZone, format);
  return format;
}

/** Maximum length of a timer in milliseconds. The clock may be changed while a timer runs, so it is read at least this often. */
export const MAX_TIMER_MS = 60_000;

/** Calls back once when the clock shows at least `dueMs` (milliseconds since 1970). The returned function cancels it. */
export function atWallTime(clock: Clock, dueMs: number, callback: () => void): () => void {
  let cancel = () => {};
  const check = () => {
    const leftMs = dueMs - clock.now();
    if (leftMs <= 0) callback();
    else cancel = clock.after(Math.min(leftMs, MAX_TIMER_MS), check);
  };
  cancel = clock.after(0, check);
  return () => cancel();
}
