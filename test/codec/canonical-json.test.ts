import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { sha256Hex } from '../../src/codec/hashes.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { isJsonObject, type Json } from '../../src/core/json.ts';

/** IEEE 754 bit patterns and their form, RFC 8785 appendix B. */
const NUMBERS: readonly (readonly [bits: string, text: string])[] = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
];

const fromBits = (bits: string): number => Buffer.from(bits, 'hex').readDoubleBE();

/** The same value with every object's members in another order. */
function shuffled(value: Json): Json {
  if (Array.isArray(value)) return value.map(shuffled);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, shuffled(item)]),
  );
}

const jsonValue = fc.jsonValue({ stringUnit: 'binary' }).map((value) => value as Json);

describe('canonical JSON', () => {
  test.each(NUMBERS)('the number %s is written %s', (bits, text) => {
    expect(canonicalJson(fromBits(bits))).toBe(text);
  });

  test('the example of RFC 8785 section 3.2.2 gets the form of section 3.2.3', () => {
    const input = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    ) as Json;
    expect(canonicalJson(input)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test('members are sorted by UTF-16 code units, not by code points', () => {
    const keys = ['\u20ac', '\r', '\ufb33', '1', '\u{1f600}', '\u0080', '\u00f6'];
    const object = Object.fromEntries(keys.map((key) => [key, 0]));
    expect(Object.keys(JSON.parse(canonicalJson(object)) as object)).toEqual([
      '1',
      '\r',
      '\u0080',
      '\u00f6',
      '\u20ac',
      '\u{1f600}',
      '\ufb33',
    ]);
  });

  test('members named like numbers are sorted as text', () => {
    expect(canonicalJson({ 9: 0, 10: 0, __proto__x: 0 })).toBe('{"10":0,"9":0,"__proto__x":0}');
  });

  test('the order of members never changes the hash', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(sha256Hex(canonicalJson(shuffled(value)))).toBe(sha256Hex(canonicalJson(value)));
      }),
    );
  });

  test('the parsed text is written as the same text, and has the value of JSON.stringify', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = canonicalJson(value);
        const parsed = JSON.parse(text) as Json;
        expect(canonicalJson(parsed)).toBe(text);
        expect(parsed).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.each([
    ['NaN', Number.NaN],
    ['an infinity', Number.POSITIVE_INFINITY],
    ['undefined', undefined],
    ['a bigint', 1n],
    ['a function', () => 0],
    ['a lone high surrogate', 'a\ud800'],
    ['a lone low surrogate', '\udc00a'],
    ['a date', new Date(0)],
    ['a map', new Map()],
  ])('%s is refused with the place where it is', (_name, value) => {
    const error = refusal({ a: [0, { 'b/c': value as Json }] });
    expect(error.code).toBe('VALIDATION_ERROR');
    expect(error.details).toEqual({ pointer: '/a/1/b~1c' });
  });

  test('a hole in an array and a broken member name are refused', () => {
    expect(refusal(new Array(1)).details).toEqual({ pointer: '/0' });
    expect(refusal({ '\ud800': 1 }).message).toContain('surrogate');
  });

  test('nesting beyond the bound is refused instead of exhausting the stack', () => {
    let value: Json = 0;
    for (let depth = 0; depth < 100_000; depth++) value = [value];
    expect(refusal(value).message).toContain('256');
  });
});

function refusal(value: Json): AtmoError {
  try {
    canonicalJson(value);
  } catch (error) {
    if (error instanceof AtmoError) return error;
    throw error;
  }
  throw new AtmoError('INTERNAL_ERROR', 'The value was accepted');
}
