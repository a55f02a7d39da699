import type { Json } from '../../core/json.ts';
import { isSameLocalDay } from '../../core/local-time.ts';
import type { WatchPorts } from '../triggers/watch.ts';

/** What words of times need. */
export type WordPorts = Pick<WatchPorts, 'clock' | 'timeZone'>;

/** Returns a time of the hub's zone, with the day if it is not today. */
export function momentText(atMs: number, { clock, timeZone }: WordPorts): string {
  const time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(atMs);
  if (isSameLocalDay(atMs, clock.now(), timeZone)) return time;
  const day = new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short', day: 'numeric', month: 'short' }).format(atMs);
  return `${time} on ${day}`;
}

/** Returns a number of seconds in words, such as `10 minutes` or `1 hour 30 minutes`; for a fact that is no number, `an unknown time`. */
export function durationText(seconds: Json | undefined): string {
  if (typeof seconds !== 'number') return 'an unknown time';
  const whole = Math.floor(seconds);
  const parts = [
    [Math.floor(whole / 3600), 'hour'],
    [Math.floor(whole / 60) % 60, 'minute'],
    [whole % 60, 'second'],
  ] as const;
  const said = parts.flatMap(([count, unit]) => (count === 0 ? [] : [`${count} ${unit}${count === 1 ? '' : 's'}`]));
  return said.length === 0 ? `${seconds} seconds` : said.join(' ');
}

/** Returns a day of the week in full: `Saturday` for `sat`. */
export function dayText(day: Json | undefined): string {
  return DAYS.find((name) => name.slice(0, 3).toLowerCase() === day) ?? String(day);
}

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/** Returns the time of an ISO text among facts; undefined if there is none. */
export function factTime(fact: Json | undefined, ports: WordPorts): string | undefined {
  const atMs = typeof fact === 'string' ? Date.parse(fact) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : momentText(atMs, ports);
}
