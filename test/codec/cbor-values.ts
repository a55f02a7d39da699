import fc from 'fast-check';
import type { CborValue } from '../../src/codec/cbor.ts';

const text = fc.string({ unit: 'binary', maxLength: 100 }).filter((value) => value.isWellFormed() && !value.startsWith('\ufeff'));
const bytes = fc.uint8Array({ maxLength: 80 });
const integer = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -300, max: 300 }),
  fc.constantFrom(2 ** 32 - 1, 2 ** 32, -(2 ** 32), 65_536),
);
const leaves = [fc.constantFrom<CborValue>(null, true, false), integer, text, bytes];

/** Any value that can be encoded, without fractions. */
export const integralValue: fc.Arbitrary<CborValue> = valuesOf(fc.oneof(...leaves));

/** Any value that can be encoded; zero is never negative, which the oracle does not distinguish. */
export const anyValue: fc.Arbitrary<CborValue> = valuesOf(
  fc.oneof(
    ...leaves,
    fc.double().filter((number) => !Object.is(number, -0)),
    fc.float().filter((number) => !Object.is(number, -0)),
  ),
);

function valuesOf(leaf: fc.Arbitrary<CborValue>): fc.Arbitrary<CborValue> {
  const { value } = fc.letrec<{ value: CborValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 5 }),
      fc
        .uniqueArray(fc.tuple(fc.oneof(integer, text), tie('value')), { maxLength: 5, selector: ([key]) => key })
        .map((entries) => new Map(entries)),
    ),
  }));
  return value;
}
