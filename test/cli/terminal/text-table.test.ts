import { describe, expect, test } from 'vitest';
import { ageText, cellText, textPairs, textTable } from '../../../src/cli/terminal/text-table.ts';

describe('text for people', () => {
  test('tables align, and print (none) without rows', () => {
    expect(
      String(
        textTable(
          ['A', 'LONG'],
          [
            ['xxx', 1],
            ['y', null],
          ],
        ),
      ),
    ).toBe('A    LONG\nxxx  1\ny    -\n');
    expect(String(textTable(['A'], []))).toBe('(none)\n');
    expect(String(textPairs({ name: 'x', empty: '', none: null, longer: ['a', 'b'] }))).toBe('name    x\nlonger  a, b\n');
  });

  test('control characters become spaces, whatever they came in', () => {
    expect(cellText('a\u001b[31mb\r\n\u009bc')).toBe('a [31mb c');
    expect(cellText(['a\u0007', 'b'])).toBe('a , b');
    expect(cellText({ a: 1 })).toBe('{"a":1}');
  });

  test('ages have one unit', () => {
    expect([undefined, 400, 119_000, 121_000, 7_300_000, 200_000_000].map(ageText)).toEqual([
      'unknown',
      '0 s',
      '119 s',
      '2 min',
      '2 h',
      '2 d',
    ]);
  });
});
