import { isNativeAccelerationEnabled } from 'cbor-x/decode';
import { decode, encode, rfc8949EncodeOptions } from 'cborg';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CborValue, decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { anyValue, integralValue } from './cbor-values.ts';

const FLOATS = { floats: 'allowed' } as const;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));

/** The examples of RFC 8949, appendix A, that lie within what is used here. */
const EXAMPLES: readonly (readonly [string, CborValue])[] = [
  ['00', 0],
  ['17', 23],
  ['1818', 24],
  ['1903e8', 1000],
  ['1a000f4240', 1_000_000],
  ['1b000000e8d4a51000', 1_000_000_000_000],
  ['20', -1],
  ['3863', -100],
  ['3903e7', -1000],
  ['f98000', -0],
  ['f93e00', 1.5],
  ['fb3ff199999999999a', 1.1],
  ['fa7f7fffff', 3.4028234663852886e38],
  ['fb7e37e43c8800759c', 1e300],
  ['f90001', 2 ** -24],
  ['f9bc01', -1.0009765625],
  ['f97c00', Number.POSITIVE_INFINITY],
  ['f97e00', Number.NaN],
  ['f9fc00', Number.NEGATIVE_INFINITY],
  ['f4', false],
  ['f5', true],
  ['f6', null],
  ['40', new Uint8Array()],
  ['4401020304', Uint8Array.of(1, 2, 3, 4)],
  ['60', ''],
  ['62225c', '"\\'],
  ['62c3bc', 'ü'],
  ['64f0908591', '\u{10151}'],
  ['80', []],
  ['8301820203820405', [1, [2, 3], [4, 5]]],
  ['a0', new Map()],
  [
    'a201020304',
    new Map([
      [1, 2],
      [3, 4],
    ]),
  ],
  [
    'a26161016162820203',
    new Map<string, CborValue>([
      ['a', 1],
      ['b', [2, 3]],
    ]),
  ],
];

describe('encoding', () => {
  test.each(EXAMPLES)('the example %s of RFC 8949 is written and read', (encoded, value) => {
    expect(hex(encodeCbor(value))).toBe(encoded);
    expect(decodeCbor(bytesOf(encoded), FLOATS)).toEqual(value);
  });

  test('keys are sorted by their encoded bytes, as the example of RFC 8949 section 4.2.1', () => {
    const map = new Map<number | string, CborValue>([
      ['aa', 6],
      ['z', 5],
      [-1, 3],
      [100, 2],
      [10, 1],
    ]);
    expect(hex(encodeCbor(map))).toBe('a50a011864022003617a0562616106');
  });

  test('every value is written as by cborg, and read back as it was', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const encoded = encodeCbor(value);
        expect(hex(encoded)).toBe(hex(encode(value, rfc8949EncodeOptions)));
        expect(decodeCbor(encoded, FLOATS)).toEqual(value);
      }),
      { numRuns: 300 },
    );
  });

  test('the strict decoder of cborg accepts the same bytes', () => {
    fc.assert(
      fc.property(integralValue, (value) => {
        const encoded = encodeCbor(value);
        expect(decodeCbor(encoded)).toEqual(decode(encoded, { useMaps: true, strict: true, rejectDuplicateMapKeys: true }));
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['undefined', undefined],
    ['a plain object', {}],
    ['a date', new Date(0)],
    ['a bigint', 1n],
    ['half a surrogate pair', 'a\ud800'],
    ['a leading byte order mark', '\ufeffa'],
    ['a hole', new Array(1)],
    ['a key with a fraction', new Map([[1.5, 0]])],
    ['a key that is true', new Map([[true, 0]])],
  ])('%s is refused', (_name, value) => {
    expect(() => encodeCbor([value as CborValue])).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test('nesting is bounded alike in both directions', () => {
    const nested = (depth: number): CborValue => (depth === 0 ? 0 : [nested(depth - 1)]);
    expect(decodeCbor(encodeCbor(nested(16)))).toEqual(nested(16));
    expect(() => encodeCbor(nested(17))).toThrow(/deeper than 16/);
    expect(() => decodeCbor(bytesOf(`${'81'.repeat(17)}00`))).toThrow(/deeper than 16/);
  });
});

describe('decoding', () => {
  test('the value shares no memory with the bytes', () => {
    const encoded = encodeCbor([Uint8Array.of(1, 2)]);
    const decoded = decodeCbor(encoded);
    encoded.fill(0);
    expect(decoded).toEqual([Uint8Array.of(1, 2)]);
  });

  test('never loads the optional native part of its decoder', () => {
    expect(isNativeAccelerationEnabled).toBe(false);
  });

  test('a part of a larger buffer is decoded alone', () => {
    const setup = Buffer.from('ffff8101ffff', 'hex');
    expect(decodeCbor(setup.subarray(2, 4))).toEqual([1]);
  });

  test('a map keeps a key that objects would lose', () => {
    const value = new Map<number | string, CborValue>([
      ['__proto__', 1],
      ['1', 2],
      [1, 3],
    ]);
    expect(decodeCbor(encodeCbor(value))).toEqual(value);
  });
});
