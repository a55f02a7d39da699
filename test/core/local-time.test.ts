import { describe, expect, test } from 'vitest';
import { isTimeZone, localTimeAt, nextLocalTime } from '../../src/core/local-time.ts';

const BERLIN = 'Europe/Berlin';
const next = (at: string, after: string, days?: Parameters<typeof nextLocalTime>[0]['days'], timeZone = BERLIN) => {
  const atMs = nextLocalTime({ at, days, timeZone }, Date.parse(after));
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
};

describe('the next time of day', () => {
  test('is today when it is still to come, else tomorrow', () => {
    expect(next('07:30', '2026-01-15T06:00:00Z')).toBe('2026-01-15T06:30:00.000Z');
    expect(next('07:30', '2026-01-15T06:30:00Z')).toBe('2026-01-16T06:30:00.000Z');
  });

  test('follows local time over the change to summer time', () => {
    expect(next('07:30', '2026-03-28T12:00:00Z')).toBe('2026-03-29T05:30:00.000Z');
    expect(next('07:30', '2026-10-24T12:00:00Z')).toBe('2026-10-25T06:30:00.000Z');
  });

  test('that the clock jumps over in spring is as much later', () => {
    expect(next('02:30', '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:30:00.000Z');
  });

  test('that comes twice in autumn counts once', () => {
    expect(next('02:30', '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z');
    expect(next('02:30', '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
  });

  test('waits for its day of the week as it is there, not here', () => {
    expect(next('00:15', '2026-01-15T12:00:00Z', ['sun'])).toBe('2026-01-17T23:15:00.000Z');
    expect(next('23:45', '2026-01-15T12:00:00Z', ['sat'], 'America/New_York')).toBe('2026-01-18T04:45:00.000Z');
    expect(next('07:30', '2026-01-15T06:30:00Z', ['thu'])).toBe('2026-01-22T06:30:00.000Z');
    expect(next('07:30', '2026-01-15T06:30:00Z', [])).toBeUndefined();
  });
});

test('the local time of another zone has its own day', () => {
  expect(localTimeAt(Date.parse('2026-01-15T23:30:00Z'), BERLIN)).toEqual({ day: 'fri', minutes: 30 });
  expect(localTimeAt(Date.parse('2026-01-15T23:30:00Z'), 'UTC')).toEqual({ day: 'thu', minutes: 23 * 60 + 30 });
});

test('a time zone is one of the database', () => {
  expect(isTimeZone(BERLIN)).toBe(true);
  expect(isTimeZone('Middle/Earth')).toBe(false);
});
