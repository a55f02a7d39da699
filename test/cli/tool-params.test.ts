import { describe, expect, test } from 'vitest';
import { typedParams, typedValue } from '../../src/cli/tool-params.ts';

describe('key=value words', () => {
  test('take the types of the schema', () => {
    const schema = {
      type: 'object',
      properties: {
        level: { type: 'integer' },
        name: { type: 'string' },
        isOn: { type: 'boolean' },
        rooms: { type: 'array', items: { type: 'string' } },
        numbers: { type: 'array', items: { type: 'number' } },
        colour: { type: 'object' },
        either: { anyOf: [{ type: 'number' }, { type: 'string' }] },
        maybe: { type: ['number', 'null'] },
        any: { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] },
      },
    };
    const words = [
      'level=40',
      'name=12',
      'isOn=off',
      'rooms=hall,attic',
      'numbers=[1,2]',
      'colour={"r":1}',
      'either=21.5',
      'maybe=null',
      'any=a, b',
      'x=y=z',
    ];
    expect(typedParams(words, schema)).toEqual({
      level: 40,
      name: '12',
      isOn: false,
      rooms: ['hall', 'attic'],
      numbers: [1, 2],
      colour: { r: 1 },
      either: 21.5,
      maybe: null,
      any: 'a, b',
      x: 'y=z',
    });
  });

  test('what does not fit stays text, so that the hub explains it', () => {
    expect(typedValue('much', { type: 'integer' })).toBe('much');
    expect(typedValue('0x10', { type: 'number' })).toBe('0x10');
    expect(typedValue('maybe', { type: 'boolean' })).toBe('maybe');
    expect(typedValue('{', { type: 'object' })).toBe('{');
  });

  test('a value of an enum keeps its type', () => {
    expect(typedValue('off', { enum: ['off', 'on'] })).toBe('off');
    expect(typedValue('5', { enum: ['5', '6'] })).toBe('5');
    expect(typedValue('5', { enum: [5, 6] })).toBe(5);
  });

  test('a word without = and a name given twice are wrong usage', () => {
    expect(() => typedParams(['on'], {})).toThrow(/key=value/);
    expect(() => typedParams(['=1'], {})).toThrow(/key=value/);
    expect(() => typedParams(['a=1', 'a=2'], {})).toThrow(/twice/);
  });

  test('names of the prototype are names like others', () => {
    expect(typedParams(['constructor=1', 'toString=x'], { properties: {} })).toEqual({ constructor: 1, toString: 'x' });
  });
});
