import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitText } from '../../../src/connectors/collections/rag-tools.ts';
import { processorMs } from '../../processor-time.ts';

describe('a document in parts', () => {
  test('is one part while it is short, and none when it is empty', () => {
    expect(splitText('  Descale once a year.\n')).toEqual(['Descale once a year.']);
    expect(splitText(' \n ')).toEqual([]);
  });

  test('is cut between paragraphs before it is cut within a sentence', () => {
    const paragraph = `${'Water is hard here. '.repeat(40).trim()}`;
    const [first = '', second = ''] = splitText(`${paragraph}\n\n${paragraph}`);
    expect(first).toBe(paragraph);
    expect(second.endsWith(paragraph)).toBe(true);
  });

  test('loses no word, and no part is longer than a thousand characters', () => {
    const word = fc.string({ minLength: 1, maxLength: 30 }).map((text) => text.replaceAll(/\s/g, '_'));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 400 }), fc.constantFrom(' ', '\n', '. ', '\n\n'), (words, gap) => {
        const parts = splitText(words.join(gap));
        expect(Math.max(0, ...parts.map(({ length }) => length))).toBeLessThanOrEqual(1_000);
        for (const one of words) expect(parts.some((part) => part.includes(one.trim()))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['without a place to cut', 'x'],
    ['of words without sentences', 'abcd '],
    ['of signs in two halves', '🏠'],
  ])('of the greatest length, %s, is cut in a time that grows as the text does', async (_what, unit) => {
    const textOf = (length: number) => unit.repeat(length / unit.length);
    splitText(textOf(500_000));
    expect(await processorMs(() => splitText(textOf(500_000)))).toBeLessThan(100);
  });

  test('without any place to cut ends all the same, and never in the middle of a letter', () => {
    const parts = splitText('🏠'.repeat(3_000));
    expect(parts.every((part) => part.isWellFormed())).toBe(true);
    expect(parts.length).toBeLessThan(12);
  });
});
