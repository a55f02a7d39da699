import { describe, expect, test } from 'vitest';
import { readSetupCode } from '../../../src/web/pages/commissioning.ts';

describe('a setup code', () => {
  test('is accepted as printed on the box, with blanks, dashes and small letters', () => {
    expect(readSetupCode(' 3497-011-2332 ')).toEqual({ code: '34970112332' });
    expect(readSetupCode('3497 011 2332')).toEqual({ code: '34970112332' });
    expect(readSetupCode('mt:y.k9042c00ka0648g00')).toEqual({ code: 'MT:Y.K9042C00KA0648G00' });
  });

  test('with any changed digit is rejected before a request to the hub', () => {
    const right = '34970112332';
    for (const [index, digit] of [...right].entries()) {
      const wrong = `${right.slice(0, index)}${(Number(digit) + 1) % 10}${right.slice(index + 1)}`;
      expect(readSetupCode(wrong), wrong).toEqual({ mistake: expect.stringContaining('One digit is wrong') });
    }
  });

  test('with two swapped neighbours is rejected', () => {
    expect(readSetupCode('43970112332')).toHaveProperty('mistake');
    expect(readSetupCode('34790112332')).toHaveProperty('mistake');
  });

  test('that is too short, empty or another text is rejected with the right form', () => {
    expect(readSetupCode('3497011233')).toEqual({ mistake: 'A setup code has 11 or 21 digits; these are 10.' });
    expect(readSetupCode('')).toEqual({ mistake: expect.stringContaining('Type the digits') });
    expect(readSetupCode('hello')).toHaveProperty('mistake');
    expect(readSetupCode('MT:SHORT')).toEqual({ mistake: expect.stringContaining('not complete') });
  });
});
