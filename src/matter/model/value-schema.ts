import type { JsonSchema } from '../../core/json.ts';
import { evaluateLimit, type LimitExpression } from './limit-expression.ts';
import type { BitmapShape, BytesShape, EnumShape, IntegerShape, ListShape, StructShape, TextShape, ValueShape } from './value-shape.ts';

/** What the device's attributes say now, by camelCase name; live limits are looked up here. */
export type LiveState = Readonly<Record<string, unknown>>;

type MutableSchema = Record<string, unknown>;

const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';

/** JSON Schema (draft 2020-12) of a shape's JSON form. With `state`, limits that depend on attributes are numbers. */
export function schemaOf(shape: ValueShape, state: LiveState = {}): JsonSchema {
  const schema = withNull(bareSchema(shape, state), shape.isNullable);
  if (shape.description !== undefined) schema.description = shape.description;
  if (shape.unit !== undefined) schema['x-unit'] = shape.unit;
  if (shape.scale !== undefined) schema['x-scale'] = shape.scale;
  return schema;
}

function bareSchema(shape: ValueShape, state: LiveState): MutableSchema {
  switch (shape.kind) {
    case 'boolean':
      return { type: 'boolean' };
    case 'integer':
      return integerSchema(shape, state);
    case 'float':
      return { type: 'number' };
    case 'enum':
      return enumSchema(shape);
    case 'bitmap':
      return bitmapSchema(shape);
    case 'text':
      return { type: 'string', ...textLengths(shape) };
    case 'bytes':
      return bytesSchema(shape);
    case 'list':
      return listSchema(shape);
    case 'struct':
      return structSchema(shape, state);
    case 'any':
      return {};
  }
}

function withNull(schema: MutableSchema, isNullable: boolean): MutableSchema {
  if (!isNullable || Object.keys(schema).length === 0) return schema;
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  if (Array.isArray(schema.enum)) return { ...schema, enum: [...schema.enum, null] };
  return { ...schema, type: [schema.type, 'null'] };
}

/** The range of an integer, narrowed by what the device's attributes say now. */
export function rangeOf(shape: IntegerShape, state: LiveState): { readonly minimum: number; readonly maximum: number } {
  const minimum = later(Number(shape.min), live(shape.liveMin, state), Math.max);
  const maximum = later(Number(shape.max), live(shape.liveMax, state), Math.min);
  // A device that states limits without any value between them is wrong; then only the type's own range holds.
  return minimum <= maximum ? { minimum, maximum } : { minimum: Number(shape.min), maximum: Number(shape.max) };
}

function integerSchema(shape: IntegerShape, state: LiveState): MutableSchema {
  if (!shape.isWide) return { type: 'integer', ...rangeOf(shape, state) };
  return { anyOf: [wideInteger(shape), { type: 'string', pattern: '^-?[0-9]{1,20}$' }] };
}

function wideInteger(shape: IntegerShape): MutableSchema {
  const clamp = (value: bigint): number => Math.min(Math.max(Number(value), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  return { type: 'integer', minimum: clamp(shape.min), maximum: clamp(shape.max) };
}

function live(expression: LimitExpression | undefined, state: LiveState): number | undefined {
  return expression === undefined ? undefined : evaluateLimit(expression, state);
}

function later(bound: number, limit: number | undefined, pick: (a: number, b: number) => number): number {
  return limit === undefined ? bound : pick(bound, limit);
}

function enumSchema(shape: EnumShape): MutableSchema {
  const names = shape.values.map(({ name }) => name);
  return shape.isOpen ? { anyOf: [{ enum: names }, { type: 'integer' }] } : { enum: names };
}

function bitmapSchema(shape: BitmapShape): MutableSchema {
  const bit = (width: number): MutableSchema =>
    width === 1 ? { type: 'boolean' } : { type: 'integer', minimum: 0, maximum: 2 ** width - 1 };
  return {
    type: 'object',
    properties: Object.fromEntries(shape.bits.map(({ name, width }) => [name, bit(width)])),
    additionalProperties: false,
  };
}

// JSON Schema counts code points and Matter octets: the schema is the wider of the two, the codec is exact.
function textLengths(shape: TextShape): MutableSchema {
  return {
    ...(shape.minBytes > 0 && { minLength: Math.ceil(shape.minBytes / 4) }),
    ...(shape.maxBytes !== undefined && { maxLength: shape.maxBytes }),
  };
}

function bytesSchema(shape: BytesShape): MutableSchema {
  const encoded = (bytes: number): number => Math.ceil(bytes / 3) * 4;
  return {
    type: 'string',
    contentEncoding: 'base64',
    pattern: BASE64,
    ...(shape.minBytes > 0 && { minLength: encoded(shape.minBytes) }),
    ...(shape.maxBytes !== undefined && { maxLength: encoded(shape.maxBytes) }),
  };
}

function listSchema(shape: ListShape): MutableSchema {
  return {
    type: 'array',
    items: schemaOf(shape.entry),
    ...(shape.minItems > 0 && { minItems: shape.minItems }),
    ...(shape.maxItems !== undefined && { maxItems: shape.maxItems }),
  };
}

function structSchema(shape: StructShape, state: LiveState): MutableSchema {
  const required = shape.fields.filter((field) => field.isRequired).map((field) => field.name);
  return {
    type: 'object',
    properties: Object.fromEntries(shape.fields.map((field) => [field.name, schemaOf(field.shape, state)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}
