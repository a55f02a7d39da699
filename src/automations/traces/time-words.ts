import type { Json } from '../../core/json.ts';
import { isSameLocalDay } from '../../core/local-time.ts';
import type { WatchPorts } from '../triggers/watch.ts';

/** What words of times need. */
export type WordPorts = Pick<WatchPorts, 'clock' | 'timeZone'>;

/** Returns a time of the hub's zone, with the day if it is not today. */
export function clockText(atMs: number, { clock, timeZone }: WordPorts): string {
  const time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(atMs);
  if (isSameLocalDay(atMs, clock.now(), timeZone)) return time;
  const day = new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short', day: 'numeric', month: 'short' }).format(atMs);
  return `${time} on ${day}`;
}

/** Returns the time of an ISO text among facts; undefined if there is none. */
export function factTime(fact: Json | undefined, ports: WordPorts): string | undefined {
  const atMs = typeof fact === 'string' ? Date.parse(fact) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : clockText(atMs, ports);
}
