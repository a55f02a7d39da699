import { describe, expect, test } from 'vitest';
import {
  between,
  commonRange,
  exactly,
  isNoValue,
  isWithin,
  joinedRange,
  otherValues,
  rangeOf,
  rangeText,
} from '../../../src/automations/check/value-range.ts';
import {
  ALWAYS,
  intersection,
  isEmpty,
  later,
  lengthOf,
  minuteTimes,
  timesText,
  union,
  windowsOf,
  windowTimes,
} from '../../../src/automations/check/week-times.ts';

const DAY = 1440;

describe('times of the week', () => {
  test('a window over midnight has both of its parts on each day, as at a run', () => {
    const night = windowTimes('22:00', '06:00', ['mon']);
    expect(night).toEqual([
      { from: 0, to: 360 },
      { from: 1320, to: DAY },
    ]);
    expect(lengthOf(windowTimes('22:00', '06:00'))).toBe(7 * 480);
  });

  test('adjacent windows have no minute in common, and together they are one', () => {
    const [morning, noon] = [windowTimes('08:00', '12:00'), windowTimes('12:00', '14:00')];
    expect(isEmpty(intersection(morning, noon))).toBe(true);
    expect(union(morning, noon)).toEqual(windowTimes('08:00', '14:00'));
  });

  test('what comes later goes on at the start of the week', () => {
    const sunday = minuteTimes('23:50', ['sun']);
    expect(later(sunday, { least: 5, most: 20 })).toEqual([
      { from: 0, to: 11 },
      { from: 7 * DAY - 5, to: 7 * DAY },
    ]);
  });

  test('are shown as people write them', () => {
    expect(timesText(ALWAYS)).toBe('at any time');
    expect(timesText(minuteTimes('07:30', ['mon', 'tue']))).toBe('at 07:30 on mon, tue');
    expect(timesText(windowTimes('22:00', '06:00'))).toBe('from 22:00 to 06:00 every day');
    expect(timesText(windowTimes('08:00', undefined, ['sat', 'sun']))).toBe('from 08:00 to 24:00 at the weekend');
    expect(windowsOf(windowTimes(undefined, undefined, ['wed']))).toEqual([{ days: ['wed'], from: '00:00', to: '24:00' }]);
  });
});

describe('values of a reading', () => {
  test('above and below a limit exclude each other, and with a gap between them there is a value', () => {
    expect(isNoValue(commonRange(rangeOf({ above: 20 }), rangeOf({ below: 20 })))).toBe(true);
    expect(rangeText(commonRange(rangeOf({ above: 20 }), rangeOf({ below: 21 })))).toBe('20 to 21');
    expect(isNoValue(commonRange(rangeOf({ above: 20 }), exactly(20)))).toBe(true);
    expect(isNoValue(commonRange(between(20, 30), exactly(20)))).toBe(false);
  });

  test('true is the number 1, a former name is the present one, and a text is no number', () => {
    expect(isWithin(exactly(true), exactly(1))).toBe(true);
    expect(isWithin(exactly('is_charging'), exactly('charging'))).toBe(true);
    expect(isNoValue(commonRange(rangeOf({ above: 0 }), exactly('open')))).toBe(true);
  });

  test('all others and the range itself have nothing in common, and together they are everything', () => {
    for (const range of [rangeOf({ above: 5 }), exactly(7), exactly('open'), joinedRange(between(1, 2), between(4, 5))]) {
      expect(isNoValue(commonRange(range, otherValues(range)))).toBe(true);
      expect(isWithin(rangeOf({}), joinedRange(range, otherValues(range)))).toBe(true);
    }
  });
});
