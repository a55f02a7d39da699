import { describe, expect, test } from 'vitest';
import { parseShallowJson } from '../../../src/connectors/atmosphere/shallow-json.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('a text', () => {
  test.each(['{"a":[1,{"b":"c"}]}', '"[[["', '7', '[]', '{"a\\"[[[[":"\\\\","b":"]]]]{{{{"}', '{"\\\\":"[\\"["}', nested(32)])(
    '%s is its value',
    (text) => {
      expect(parseShallowJson(text)).toEqual(JSON.parse(text));
    },
  );

  test('may have any brackets in its strings', () => {
    const text = JSON.stringify({ a: nested(100), b: `"${nested(100)}\\`, c: '\\"'.repeat(50) + nested(100) });
    expect(parseShallowJson(text)).toEqual(JSON.parse(text));
  });

  test.each(['', '{', '"a', '"a\\"', '[1,]', 'nested', ']]]]'])('%s is none', (text) => expect(parseShallowJson(text)).toBeUndefined());

  test('that is deeper than 32 levels is not read', () => {
    expect(parseShallowJson(nested(33))).toBeUndefined();
    expect(parseShallowJson(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)).toBeUndefined();
    expect(parseShallowJson(`["${'x'.repeat(10)}",${nested(32)}]`)).toBeUndefined();
  });

  test('of four megabytes of brackets costs nothing', () => {
    const startMs = performance.now();
    expect(parseShallowJson('['.repeat(4_000_000))).toBeUndefined();
    expect(performance.now() - startMs).toBeLessThan(500);
  });
});
