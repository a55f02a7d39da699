import { describe, expect, test } from 'vitest';
import { fillReferences, hasReferences, parameterOf, referencedParameters } from '../../../src/calls/composition/steps.ts';

const results = [{ temperature: 21.5, 'a/b': { '~': [10, 20] } }, 'text', null];

describe('references between steps', () => {
  test.each([
    [{ $result: '0/temperature' }, 21.5],
    [{ $result: '0/a~1b/~0/1' }, 20],
    [{ $result: '1' }, 'text'],
    [{ $result: '2' }, null],
    [{ deep: [{ $result: '1' }, { $result: 1, other: 2 }] }, { deep: ['text', { $result: 1, other: 2 }] }],
  ])('%j becomes %j', (params, filled) => {
    expect(fillReferences(params, { results })).toEqual(filled);
  });

  test.each(['3/x', '0/nothing', '1/length', '0/temperature/toFixed', 'x', '-1', '0temperature', '0/__proto__'])(
    'the reference %j is refused with the reason',
    (reference) => {
      expect(() => fillReferences({ $result: reference }, { results })).toThrow(
        /The reference .*(leads nowhere|has not run before|not of the form)/,
      );
    },
  );

  test('a reference that is no text is refused', () => {
    expect(() => fillReferences({ $result: { a: 1 } }, { results })).toThrow(/not of the form/);
  });

  test('what was filled in is never read as a reference again', () => {
    const sources = { results: [{ $result: '0/secret' }, 'secret'], params: { given: { $result: '1' } } };
    expect(fillReferences({ $result: '0' }, sources)).toEqual({ $result: '0/secret' });
    expect(fillReferences({ a: { $param: 'given' } }, sources)).toEqual({ a: { $result: '1' } });
  });

  test('a parameter that was not given leaves its member out; without parameters it is data', () => {
    const value = { level: { $param: 'level' }, list: [1, { $param: 'more' }], at: { $param: 'at' } };
    expect(fillReferences(value, { results: [], params: { at: 0 } })).toEqual({ list: [1], at: 0 });
    expect(fillReferences(value, { results: [] })).toEqual(value);
    expect(referencedParameters(value)).toEqual(['level', 'more', 'at']);
    expect(parameterOf({ $param: 'toString' })).toBe('toString');
    expect(fillReferences({ a: { $param: 'toString' } }, { results: [], params: {} })).toEqual({});
  });

  test('parameters without a reference are known as such', () => {
    expect(hasReferences({ a: [{ b: 1 }] })).toBe(false);
    expect(hasReferences({ a: [{ $result: '0' }] })).toBe(true);
  });
});
