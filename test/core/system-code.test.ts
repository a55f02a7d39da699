import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { systemCode } from '../../src/core/errors.ts';

describe('the code of an error of the system', () => {
  test('is that of Node', () => {
    const read = () => readFileSync('/nowhere/at/all');
    expect(systemCode(thrownBy(read))).toBe('ENOENT');
  });

  test.each([
    [new TypeError('is no text'), 'TypeError: is no text'],
    ['why not', 'why not'],
    [undefined, 'undefined'],
    [{ code: 'EACCES' }, '[object Object]'],
  ])('is the text of what has none: %s', (error, text) => {
    expect(systemCode(error)).toBe(text);
  });
});

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
