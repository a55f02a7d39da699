import { describe, expect, test } from 'vitest';
import { shownMinute, ZoneClock } from '../../../src/auth/rules/rule-terms.ts';

const berlin = new ZoneClock('Europe/Berlin');
const at = (iso: string): string => shownMinute(berlin.at(Date.parse(iso)));

describe('the wall clock of a zone', () => {
  test('follows summer time: in spring an hour is missing, in autumn one comes twice', () => {
    expect(['2026-03-29T00:59:59Z', '2026-03-29T01:00:00Z'].map(at)).toEqual(['sun 01:59', 'sun 03:00']);
    expect(['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'].map(at)).toEqual(['sun 02:30', 'sun 02:30']);
    expect(at('2026-12-31T23:00:00Z')).toBe('fri 00:00');
  });

  test('of a zone that is not a whole hour off, and of one beyond the date line', () => {
    expect(shownMinute(new ZoneClock('Asia/Kathmandu').at(Date.parse('2026-01-05T00:00:00Z')))).toBe('mon 05:45');
    expect(shownMinute(new ZoneClock('Pacific/Kiritimati').at(Date.parse('2026-01-04T12:00:00Z')))).toBe('mon 02:00');
    expect(new ZoneClock().zone).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  });

  test('reads times as people write them', () => {
    const now = Date.parse('2026-01-07T12:00:00Z');
    expect(
      ['22:30', 'fri 22:30', 'Friday 7:05', '2026-01-31T22:30:00Z', '2026-01-31T22:30+01:00'].map((text) =>
        shownMinute(berlin.parse(text, now)),
      ),
    ).toEqual(['wed 22:30', 'fri 22:30', 'fri 07:05', 'sat 23:30', 'sat 22:30']);
    for (const text of ['', 'noon', '24:00', '12:60', '2026-01-31', '2026-01-31T22:30', '2026-13-31T22:30Z', 'fri']) {
      expect(() => berlin.parse(text, now), text).toThrow(/is no time; give 22:30/);
    }
  });
});
