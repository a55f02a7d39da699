import { AtmoError } from '../errors.ts';

/** A time (milliseconds since 1970) as ISO 8601 in UTC. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** The other way round. VALIDATION_ERROR names `what` it is: RFC 3339 knows times, such as leap seconds, that JavaScript does not. */
export function parseIsoTime(text: string, what: string): number {
  const atMs = Date.parse(text);
  if (!Number.isNaN(atMs)) return atMs;
  throw new AtmoError('VALIDATION_ERROR', `${what} is no time that this hub knows; write one such as 2026-01-31T12:00:00Z`);
}
