import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CBOR_LIMITS, type CborValue, decodeCbor, encodeCbor, scanCbor } from '../../src/codec/cbor.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { processorMs } from '../processor-time.ts';
import { anyValue } from './cbor-values.ts';

const FLOATS = { ...CBOR_LIMITS, floats: 'allowed' } as const;
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'));

function refusalOf(bytes: Uint8Array, limits = CBOR_LIMITS): AtmoError | undefined {
  try {
    scanCbor(bytes, limits);
    return undefined;
  } catch (error) {
    if (error instanceof AtmoError) return error;
    throw error;
  }
}

/** What is not the one encoding of an allowed value: bytes, place of the refusal, reason. */
const REFUSED: readonly (readonly [name: string, bytes: string, byte: number, reason: string])[] = [
  ['nothing', '', 0, 'end before'],
  ['a second value', '01 02', 1, 'more bytes follow'],
  ['0 in two bytes', '18 00', 0, 'longer than its value needs'],
  ['23 in two bytes', '18 17', 0, 'longer than its value needs'],
  ['255 in three bytes', '19 00ff', 0, 'longer than its value needs'],
  ['65,535 in five bytes', '1a 0000ffff', 0, 'longer than its value needs'],
  ['2^32 − 1 in nine bytes', '1b 00000000ffffffff', 0, 'longer than its value needs'],
  ['a long head of a text', '81 78 01 61', 1, 'longer than its value needs'],
  ['a long head of an array', '98 01 00', 0, 'longer than its value needs'],
  ['2^53', '1b 0020000000000000', 0, 'outside'],
  ['−2^53', '3b 001fffffffffffff', 0, 'outside'],
  ['2^64 − 1', '1b ffffffffffffffff', 0, 'outside'],
  ['a cut integer', '1a 0001', 0, 'end before'],
  ['a cut text', '82 01 63 6161', 2, 'end before'],
  ['a cut array', '82 01', 0, 'end before'],
  ['an array that ends inside', '82 8101', 3, 'end before'],
  ['bytes of 2^64 − 1', '5b ffffffffffffffff', 0, 'end before'],
  ['an array of 2^32 − 1', '9a ffffffff 00', 0, 'end before'],
  ['a map of 2^63', 'bb 8000000000000000', 0, 'end before'],
  ['a map with half an entry', 'a1 01', 0, 'end before'],
  ['bytes of indefinite length', '5f 41 01 ff', 0, 'indefinite'],
  ['a text of indefinite length', '7f 61 61 ff', 0, 'indefinite'],
  ['an array of indefinite length', '9f ff', 0, 'indefinite'],
  ['a map of indefinite length', 'bf ff', 0, 'indefinite'],
  ['a break by itself', 'ff', 0, 'simple value or break 31'],
  ['additional information 28', '1c', 0, 'reserved'],
  ['additional information 30', '9e', 0, 'reserved'],
  ['tag 0', 'c0 60', 0, 'tag'],
  ['tag 18', 'd2 84', 0, 'tag'],
  ['a tag for records of cbor-x', 'd9 dffe 82 00 80', 0, 'tag'],
  ['undefined', 'f7', 0, 'simple value or break 23'],
  ['simple value 0', 'e0', 0, 'simple value or break 0'],
  ['false in two bytes', 'f8 14', 0, 'simple value or break 24'],
  ['simple value 255', 'f8 ff', 0, 'simple value or break 24'],
  ['a key of bytes', 'a1 4101 00', 1, 'neither an integer nor text'],
  ['an array as a key', 'a1 80 00', 1, 'neither an integer nor text'],
  ['a truth value as a key', 'a1 f5 00', 1, 'neither an integer nor text'],
  ['a key twice', 'a2 01 02 01 03', 3, 'twice'],
  ['unsorted integers', 'a2 02 00 01 00', 3, 'not sorted'],
  ['keys sorted as numbers instead of bytes', 'a2 20 00 00 00', 3, 'not sorted'],
  ['unsorted texts', 'a2 6162 00 6161 00', 4, 'not sorted'],
  ['half a UTF-8 sequence', '61 c3', 0, 'UTF-8'],
  ['an overlong UTF-8 sequence', '62 c0af', 0, 'UTF-8'],
  ['a surrogate in UTF-8', '63 eda080', 0, 'UTF-8'],
  ['a byte order mark', '63 efbbbf', 0, 'byte order mark'],
  ['a byte order mark before a long text', `78 46 efbbbf ${'61'.repeat(67)}`, 0, 'byte order mark'],
  ['a fraction', 'f9 3e00', 0, 'only integers'],
];

/** The same with fractions allowed. */
const REFUSED_FLOATS: readonly (readonly [name: string, bytes: string, reason: string])[] = [
  ['1 as a half', 'f9 3c00', 'integer is written as'],
  ['1 as a double', 'fb 3ff0000000000000', 'integer is written as'],
  ['0 as a half', 'f9 0000', 'integer is written as'],
  ['1.5 as a single', 'fa 3fc00000', 'shortest'],
  ['1.5 as a double', 'fb 3ff8000000000000', 'shortest'],
  ['a single as a double', 'fb 3ff19999a0000000', 'shortest'],
  ['infinity as a double', 'fb 7ff0000000000000', 'shortest'],
  ['−0 as a single', 'fa 80000000', 'shortest'],
  ['another NaN', 'f9 7e01', 'shortest'],
  ['a negative NaN', 'f9 fe00', 'shortest'],
  ['NaN as a double', 'fb 7ff8000000000000', 'shortest'],
  ['a cut half', 'f9 3c', 'end before'],
];

describe('the scan of raw bytes', () => {
  test.each(REFUSED)('%s is refused with its position', (_name, bytes, byte, reason) => {
    const refusal = refusalOf(bytesOf(bytes));
    expect(refusal).toMatchObject({ code: 'VALIDATION_ERROR', details: { byte } });
    expect(refusal?.message).toContain(reason);
  });

  test.each(REFUSED_FLOATS)('%s is refused', (_name, bytes, reason) => {
    expect(refusalOf(bytesOf(bytes), FLOATS)?.message).toContain(reason);
  });

  test.each([
    ['maxBytes', '420000', 2],
    ['maxItems', '83000000', 3],
    ['maxDepth', '818100', 1],
  ] as const)('%s is kept to the last one', (limit, bytes, value) => {
    expect(refusalOf(bytesOf(bytes), { ...CBOR_LIMITS, [limit]: value })?.code).toBe('VALIDATION_ERROR');
    expect(refusalOf(bytesOf(bytes), { ...CBOR_LIMITS, [limit]: value + 1 })).toBeUndefined();
  });
});

describe('hostile bytes', () => {
  const SIZE = 60_000;
  const BOMBS: readonly (readonly [string, Uint8Array])[] = [
    ['arrays in arrays', new Uint8Array(SIZE).fill(0x81)],
    ['maps in maps', new Uint8Array(SIZE).fill(0xa1)],
    ['arrays without end', new Uint8Array(SIZE).fill(0x9f)],
    ['tags on tags', new Uint8Array(SIZE).fill(0xc1)],
    ['an array of empty arrays', Uint8Array.from([0x99, 0xea, 0x5d, ...new Array(SIZE - 3).fill(0x80)])],
    ['arrays that each announce the rest', Uint8Array.from(Array.from({ length: SIZE }, (_, at) => [0x99, 0x75, 0x30][at % 3] ?? 0))],
    ['a map with one key for ever', Uint8Array.from([0xb9, 0x75, 0x2e, ...new Array(SIZE - 3).fill(0x01)])],
  ];

  test.each(BOMBS)('60 KB of %s are refused within milliseconds', async (_name, bytes) => {
    expect(refusalOf(bytes)?.code).toBe('VALIDATION_ERROR');
    // The best of several: garbage of others is not counted.
    const timesMs: number[] = [];
    for (let round = 0; round < 5; round++) timesMs.push(await processorMs(() => refusalOf(bytes)));
    expect(Math.min(...timesMs)).toBeLessThan(5);
  });

  test('any bytes are either refused or the only encoding of their value', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expectOneEncoding(bytes);
      }),
      { numRuns: 3000 },
    );
  });

  test('encodings with changed, added, removed or doubled bytes are either refused or the only encoding of their value', () => {
    const edit = fc.record({ at: fc.nat(400), drop: fc.nat(3), insert: fc.uint8Array({ maxLength: 3 }) });
    let accepted = 0;
    fc.assert(
      fc.property(anyValue, fc.array(edit, { minLength: 1, maxLength: 2 }), (value, edits) => {
        const bytes = edits.reduce(
          (all, { at, drop, insert }) => all.toSpliced(at % (all.length + 1), drop, ...insert),
          [...encodeCbor(value)],
        );
        if (expectOneEncoding(Uint8Array.from(bytes))) accepted += 1;
      }),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(0);
  });

  /** True when the bytes were accepted. */
  function expectOneEncoding(bytes: Uint8Array): boolean {
    if (refusalOf(bytes, FLOATS)) return false;
    const value: CborValue = decodeCbor(bytes, FLOATS);
    expect(Buffer.from(encodeCbor(value)).toString('hex')).toBe(Buffer.from(bytes).toString('hex'));
    return true;
  }
});
