import { WEEKDAYS, type Weekday } from '../../core/clock.ts';
import { minutesOf, timeOfDay } from '../../core/local-time.ts';

export const DAY_MINUTES = 1440;
export const WEEK_MINUTES = 7 * DAY_MINUTES;

/** Minutes since Monday 00:00 in the hub's local time, from `from` to before `to`. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** A set of minutes of the week: spans in order, which do not touch each other. */
export type WeekTimes = readonly Span[];

export const ALWAYS: WeekTimes = [{ from: 0, to: WEEK_MINUTES }];
export const NEVER: WeekTimes = [];

/**
 * Returns the minutes of a time window on the given days. Without `after` it begins at midnight, without `before` it ends there. A window
 * whose end is not after its start consists of the two parts that it has on each of these days.
 */
export function windowTimes(after = '00:00', before: string | undefined, days: readonly Weekday[] = WEEKDAYS): WeekTimes {
  const [from, to] = [minutesOf(after), before === undefined ? DAY_MINUTES : minutesOf(before)];
  const parts =
    from < to
      ? [[from, to]]
      : [
          [0, to],
          [from, DAY_MINUTES],
        ];
  return normal(days.flatMap((day) => parts.map(([start = 0, end = 0]) => onDay(day, start, end))));
}

/** Returns the minute `HH:MM` of each of the days. */
export function minuteTimes(at: string, days: readonly Weekday[] = WEEKDAYS): WeekTimes {
  return normal(days.map((day) => onDay(day, minutesOf(at), minutesOf(at) + 1)));
}

function onDay(day: Weekday, from: number, to: number): Span {
  const start = WEEKDAYS.indexOf(day) * DAY_MINUTES;
  return { from: start + from, to: start + to };
}

/** Returns the minutes that are in at least one of both sets. */
export function union(a: WeekTimes, b: WeekTimes): WeekTimes {
  if (a === ALWAYS || b === ALWAYS) return ALWAYS;
  return normal([...a, ...b]);
}

/** Returns the minutes that are in both sets. */
export function intersection(a: WeekTimes, b: WeekTimes): WeekTimes {
  if (a === ALWAYS) return b;
  if (b === ALWAYS) return a;
  const common: Span[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [left, right] = [a[i], b[j]];
    if (!left || !right) break;
    const span = { from: Math.max(left.from, right.from), to: Math.min(left.to, right.to) };
    if (span.from < span.to) common.push(span);
    if (left.to < right.to) i++;
    else j++;
  }
  return common;
}

/** Returns the minutes of the week that are not in the set. */
export function otherTimes(times: WeekTimes): WeekTimes {
  const edges = [0, ...times.flatMap(({ from, to }) => [from, to]), WEEK_MINUTES];
  const gaps: Span[] = [];
  for (let index = 0; index < edges.length; index += 2) gaps.push({ from: edges[index] ?? 0, to: edges[index + 1] ?? 0 });
  return normal(gaps);
}

/** Returns the minutes that lie between `least` and `most` minutes after one of the given minutes. */
export function later(times: WeekTimes, { least, most }: { readonly least: number; readonly most: number }): WeekTimes {
  if (most === 0 || times.length === 0 || times === ALWAYS) return times;
  if (most - least >= WEEK_MINUTES) return ALWAYS;
  return normal(times.map(({ from, to }) => ({ from: from + least, to: to + most })));
}

/** Returns the number of minutes. */
export function lengthOf(times: WeekTimes): number {
  return times.reduce((sum, { from, to }) => sum + to - from, 0);
}

export function isEmpty(times: WeekTimes): boolean {
  return times.length === 0;
}

/** Sorts the spans, joins those that touch, and brings what lies beyond the end of the week to its start. */
function normal(spans: readonly Span[]): WeekTimes {
  const inWeek = spans.flatMap(({ from, to }): Span[] => {
    if (to - from >= WEEK_MINUTES) return [{ from: 0, to: WEEK_MINUTES }];
    const start = ((from % WEEK_MINUTES) + WEEK_MINUTES) % WEEK_MINUTES;
    const end = start + to - from;
    return end <= WEEK_MINUTES
      ? [{ from: start, to: end }]
      : [
          { from: start, to: WEEK_MINUTES },
          { from: 0, to: end - WEEK_MINUTES },
        ];
  });
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of inWeek.filter((span) => span.from < span.to).sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined.length === 1 && joined[0]?.from === 0 && joined[0].to === WEEK_MINUTES ? ALWAYS : joined;
}

/** A window of local time on some days. A window whose `to` is not after its `from` ends on the next day. */
export interface ShownWindow {
  readonly days: readonly Weekday[];
  readonly from: string;
  readonly to: string;
}

/** Returns the windows of the times, with equal windows of several days as one; a week without a break as one whole day. */
export function windowsOf(times: WeekTimes): readonly ShownWindow[] {
  if (times === ALWAYS) return [{ days: WEEKDAYS, from: '00:00', to: '24:00' }];
  const days = new Map<string, ShownWindow & { readonly days: Weekday[] }>();
  for (const span of acrossSunday(times).flatMap(perDay)) {
    const shown = { from: timeOfDay(span.from), to: endText(span.to) };
    const key = `${shown.from} ${shown.to}`;
    const known = days.get(key) ?? { ...shown, days: [] };
    days.set(key, known);
    known.days.push(WEEKDAYS[Math.floor(span.from / DAY_MINUTES)] ?? 'mon');
  }
  return [...days.values()];
}

/** Splits a span that is longer than a day at midnight. A shorter one may go over midnight. */
function perDay(span: Span): readonly Span[] {
  const parts: Span[] = [];
  let { from } = span;
  while (span.to - from > DAY_MINUTES || (span.to - from === DAY_MINUTES && from % DAY_MINUTES !== 0)) {
    const midnight = (Math.floor(from / DAY_MINUTES) + 1) * DAY_MINUTES;
    parts.push({ from, to: midnight });
    from = midnight;
  }
  return [...parts, { from, to: span.to }];
}

/** Joins the end of the week with its start, so that a night from Sunday to Monday is one span. */
function acrossSunday(times: WeekTimes): WeekTimes {
  const [first, last] = [times[0], times.at(-1)];
  if (!first || !last || first === last || first.from !== 0 || last.to !== WEEK_MINUTES) return times;
  return [...times.slice(1, -1), { from: last.from, to: WEEK_MINUTES + first.to }];
}

/** Returns the time of day at which a span ends; `24:00` for midnight. */
function endText(minute: number): string {
  return minute % DAY_MINUTES === 0 ? '24:00' : timeOfDay(minute);
}

const MAX_SHOWN = 4;

/** Returns the times in words: `at any time`, `at 07:30 on mon, tue`, `from 22:00 to 06:00 every day`. */
export function timesText(times: WeekTimes): string {
  if (times === ALWAYS) return 'at any time';
  const windows = windowsOf(times);
  const shown = windows.slice(0, MAX_SHOWN).map(windowText).join(' and ');
  return windows.length > MAX_SHOWN ? `${shown} and at ${windows.length - MAX_SHOWN} more times` : shown;
}

function windowText({ days, from, to }: ShownWindow): string {
  const span = minutesOf(to) - minutesOf(from) === 1 ? `at ${from}` : `from ${from} to ${to}`;
  return `${span} ${daysText(days)}`;
}

function daysText(days: readonly Weekday[]): string {
  if (days.length === WEEKDAYS.length) return 'every day';
  if (days.join() === WEEKDAYS.slice(0, 5).join()) return 'on working days';
  if (days.join() === 'sat,sun') return 'at the weekend';
  return `on ${days.join(', ')}`;
}
