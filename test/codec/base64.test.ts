import { expect, test } from 'vitest';
import { isBase64, isCanonicalBase64 } from '../../src/codec/base64.ts';

test.each(['', 'AA==', 'AAA=', 'AAAA', '+/+/', 'aGVsbG8='])('%j is the canonical base64 of its bytes', (text) => {
  expect([isBase64(text), isCanonicalBase64(text)]).toEqual([true, true]);
  expect(Buffer.from(text, 'base64').toString('base64')).toBe(text);
});

test.each(['A', 'AA', 'AAA', '====', 'A===', 'A=AA', 'AA=A', 'AAAA\n', ' AAAA', 'AAA-', 'AAA_', 'https://example.org'])(
  '%j is none',
  (text) => {
    expect([isBase64(text), isCanonicalBase64(text)]).toEqual([false, false]);
  },
);

test.each(['AB==', 'AAB='])('%j is base64, but not canonical', (text) => {
  expect([isBase64(text), isCanonicalBase64(text)]).toEqual([true, false]);
  expect(Buffer.from(text, 'base64').toString('base64')).not.toBe(text);
});

test('sixteen megabytes are checked without memory for them', () => {
  const text = Buffer.alloc(12_000_000, 5).toString('base64');
  expect(isCanonicalBase64(text)).toBe(true);
  expect(isBase64(`${text.slice(0, -4)}AA~=`)).toBe(false);
});
