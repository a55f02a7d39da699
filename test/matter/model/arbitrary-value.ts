import fc from 'fast-check';
import type { Json } from '../../../src/core/json.ts';
import type { IntegerShape, StructShape, ValueShape } from '../../../src/matter/model/value-shape.ts';

/** Any JSON value that a shape allows. */
export function anyValueOf(shape: ValueShape): fc.Arbitrary<Json> {
  const value = anyBareValue(shape);
  return shape.isNullable ? fc.option(value, { freq: 6, nil: null }) : value;
}

function anyBareValue(shape: ValueShape): fc.Arbitrary<Json> {
  switch (shape.kind) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return integerOf(shape);
    case 'float':
      // Singles survive the 32 bits of a Matter `single`.
      return fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((number) => number + 0);
    case 'enum':
      return fc.constantFrom(...shape.values.map(({ name }) => name));
    case 'bitmap':
      return fc.record(
        Object.fromEntries(
          shape.bits.map(({ name, width }) => [name, width === 1 ? fc.boolean() : fc.integer({ min: 0, max: 2 ** width - 1 })]),
        ),
      );
    case 'text':
      return fc.string({ minLength: shape.minBytes, maxLength: Math.min(shape.maxBytes ?? 20, shape.minBytes + 20) });
    case 'bytes':
      return (
        fc
          // matter.js reads an empty octet string back as null where null is allowed.
          .uint8Array({
            minLength: Math.max(shape.minBytes, shape.isNullable ? 1 : 0),
            maxLength: Math.min(shape.maxBytes ?? 20, shape.minBytes + 20),
          })
          .map((bytes) => Buffer.from(bytes).toString('base64'))
      );
    case 'list':
      return fc.array(anyValueOf(shape.entry), { minLength: shape.minItems, maxLength: Math.min(shape.maxItems ?? 3, shape.minItems + 3) });
    case 'struct':
      return structOf(shape);
    case 'any':
      return fc.constant(null);
  }
}

function integerOf(shape: IntegerShape): fc.Arbitrary<Json> {
  return fc
    .bigInt({ min: shape.min, max: shape.max })
    .map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()));
}

function structOf(shape: StructShape): fc.Arbitrary<Json> {
  const required = shape.fields.filter((field) => field.isRequired).map((field) => field.name);
  return fc.record(Object.fromEntries(shape.fields.map((field) => [field.name, anyValueOf(field.shape)])), { requiredKeys: required });
}
