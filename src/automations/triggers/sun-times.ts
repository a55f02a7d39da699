import { getTimes } from 'suncalc';
import { isSameLocalDay } from '../../core/local-time.ts';
import type { Place } from '../house/house.ts';
import type { SunEvent } from '../plan/schema-parts.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How far ahead an event of the sun is searched, in days: longer than any night or day of the poles. */
const DAYS_AHEAD = 200;

/** An event of the sun, moved by minutes. */
export interface SunMoment {
  readonly event: SunEvent;
  readonly offsetMinutes: number;
}

/** Returns the first moment after `afterMs` (milliseconds since 1970); undefined if there is none within 200 days. */
export function nextSunMoment({ event, offsetMinutes }: SunMoment, place: Place, afterMs: number): number | undefined {
  const offsetMs = offsetMinutes * MINUTE_MS;
  for (let ahead = -1; ahead <= DAYS_AHEAD; ahead++) {
    const atMs = eventNear(event, place, afterMs - offsetMs + ahead * DAY_MS);
    if (atMs !== undefined && atMs + offsetMs > afterMs) return atMs + offsetMs;
  }
  return undefined;
}

/** Returns the moment on the local day of `nowMs`; undefined on a day without the event, as at the poles. The offset may move it off the day. */
export function sunMomentOfDay(
  { event, offsetMinutes }: SunMoment,
  { place, timeZone }: { readonly place: Place; readonly timeZone: string },
  nowMs: number,
): number | undefined {
  const near = [-1, 0, 1].map((days) => eventNear(event, place, nowMs + days * DAY_MS));
  const today = near.find((atMs) => atMs !== undefined && isSameLocalDay(atMs, nowMs, timeZone));
  return today === undefined ? undefined : today + offsetMinutes * MINUTE_MS;
}

/** Returns the event of the solar day that contains the moment. */
function eventNear(event: SunEvent, { latitude, longitude }: Place, atMs: number): number | undefined {
  return getTimes(new Date(atMs), latitude, longitude)[event]?.getTime();
}
