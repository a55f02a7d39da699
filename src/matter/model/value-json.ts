import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonSchema, present } from '../../core/json.ts';
import { visibleText } from '../../core/untrusted-text.ts';
import { evaluateLimit, type LimitExpression } from './value-limits.ts';
import type { BitmapShape, EnumShape, IntegerShape, ListShape, OctetsShape, StructShape, ValueShape } from './value-shape.ts';

/**
 * Converts a matter.js value to JSON that fits the schema of its shape: enums by name, bitmaps as objects with every flag, octets as
 * base64, integers beyond 2^53 as decimal text, texts without hidden characters. Never throws: a value that does not fit its shape is
 * returned as plain JSON.
 */
export function toJson(shape: ValueShape, value: unknown): Json {
  if (value === null || value === undefined) return null;
  switch (shape.kind) {
    case 'enum':
      return shape.values.find((entry) => entry.value === value)?.name ?? plainJson(value);
    case 'bitmap':
      return bitmapToJson(shape, value);
    case 'list':
      return Array.isArray(value) ? value.map((entry) => toJson(shape.entry, entry)) : plainJson(value);
    case 'struct':
      return structToJson(shape, value);
    default:
      return plainJson(value);
  }
}

/** Converts JSON to a matter.js value. Throws VALIDATION_ERROR, with the JSON pointer and the allowed values, if the JSON does not fit. */
export function fromJson(shape: ValueShape, json: Json, pointer = ''): unknown {
  if (json === null) {
    if (shape.isNullable || shape.kind === 'any') return null;
    throw invalid(pointer, 'must not be null');
  }
  switch (shape.kind) {
    case 'boolean':
      return typeof json === 'boolean' ? json : refuse(pointer, 'must be true or false');
    case 'integer':
      return integerFromJson(shape, json, pointer);
    case 'float':
      return typeof json === 'number' ? json : refuse(pointer, 'must be a number');
    case 'enum':
      return enumFromJson(shape, json, pointer);
    case 'bitmap':
      return bitmapFromJson(shape, json, pointer);
    case 'text':
    case 'bytes':
      return octetsFromJson(shape, json, pointer);
    case 'list':
      return listFromJson(shape, json, pointer);
    case 'struct':
      return structFromJson(shape, json, pointer);
    case 'any':
      return json;
  }
}

/** Throws VALIDATION_ERROR if a number is outside the limits that the device's attributes currently set. */
export function refuseOutsideLimits(
  shape: ValueShape,
  value: unknown,
  { state, pointer }: { readonly state: LiveState; readonly pointer: string },
): void {
  if (shape.kind === 'struct') {
    const members = value as Readonly<Record<string, unknown>>;
    for (const field of shape.fields) refuseOutsideLimits(field.shape, members[field.name], { state, pointer: `${pointer}/${field.name}` });
    return;
  }
  if (shape.kind !== 'integer' || typeof value !== 'number') return;
  const { minimum, maximum } = rangeOf(shape, state);
  if (value < minimum || value > maximum) throw invalid(pointer, `must be from ${minimum} to ${maximum} on this device`);
}

function plainJson(value: unknown): Json {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  // Hidden characters are removed from a device's texts, such as track titles, because people and language models read these texts.
  if (typeof value === 'string') return visibleText(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64');
  if (value instanceof Date) return value.getTime();
  if (Array.isArray(value)) return value.map(plainJson);
  if (typeof value !== 'object') return null;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, plainJson(member)]));
}

function bitmapToJson(shape: BitmapShape, value: unknown): Json {
  if (typeof value !== 'object' || value === null) return plainJson(value);
  const flags = value as Record<string, unknown>;
  return Object.fromEntries(shape.bits.map(({ name, width }) => [name, width === 1 ? flags[name] === true : Number(flags[name] ?? 0)]));
}

function structToJson(shape: StructShape, value: unknown): Json {
  if (typeof value !== 'object') return plainJson(value);
  const members = value as Record<string, unknown>;
  const present = shape.fields.filter(({ name }) => members[name] !== undefined);
  return Object.fromEntries(present.map((field) => [field.name, toJson(field.shape, members[field.name])]));
}

function integerFromJson(shape: IntegerShape, json: Json, pointer: string): number | bigint {
  const value = wholeNumber(json);
  const range = `must be a whole number from ${shape.min} to ${shape.max}`;
  if (value === undefined || (typeof json === 'string' && !shape.isWide)) throw invalid(pointer, range);
  if (value < shape.min || value > shape.max) throw invalid(pointer, range);
  return shape.isWide ? value : Number(value);
}

function wholeNumber(json: Json): bigint | undefined {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : undefined;
  return typeof json === 'string' && /^-?[0-9]{1,20}$/.test(json) ? BigInt(json) : undefined;
}

function enumFromJson(shape: EnumShape, json: Json, pointer: string): number {
  const entry = shape.values.find(({ name, value }) => name === json || value === json);
  if (entry !== undefined) return entry.value;
  if (shape.isOpen && Number.isInteger(json)) return json as number;
  throw invalid(pointer, `must be one of ${shape.values.map(({ name }) => name).join(', ')}`);
}

function bitmapFromJson(shape: BitmapShape, json: Json, pointer: string): Record<string, boolean | number> {
  if (!isJsonObject(json)) throw invalid(pointer, `must be an object of the flags ${shape.bits.map(({ name }) => name).join(', ')}`);
  refuseUnknown(json, new Set(shape.bits.map(({ name }) => name)), pointer);
  const flags = shape.bits.filter(({ name }) => json[name] !== undefined);
  return Object.fromEntries(flags.map(({ name, width }) => [name, bitFromJson(json[name], width, `${pointer}/${name}`)]));
}

function bitFromJson(json: Json | undefined, width: number, pointer: string): boolean | number {
  if (width === 1) return typeof json === 'boolean' ? json : refuse(pointer, 'must be true or false');
  const isInRange = Number.isInteger(json) && (json as number) >= 0 && (json as number) < 2 ** width;
  return isInRange ? (json as number) : refuse(pointer, `must be a whole number from 0 to ${2 ** width - 1}`);
}

function octetsFromJson({ kind, minBytes, maxBytes }: OctetsShape, json: Json, pointer: string): string | Uint8Array {
  if (typeof json !== 'string') throw invalid(pointer, kind === 'text' ? 'must be a text' : 'must be base64 text');
  const bytes = Buffer.from(json, kind === 'text' ? 'utf8' : 'base64');
  if (kind === 'bytes' && bytes.toString('base64') !== json) throw invalid(pointer, 'must be base64 text with padding (RFC 4648 §4)');
  if (bytes.length < minBytes || bytes.length > (maxBytes ?? Number.POSITIVE_INFINITY)) {
    throw invalid(pointer, `must be ${minBytes} to ${maxBytes ?? 'any number of'} octets long, is ${bytes.length}`);
  }
  return kind === 'text' ? json : new Uint8Array(bytes);
}

function listFromJson(shape: ListShape, json: Json, pointer: string): unknown[] {
  if (!Array.isArray(json)) throw invalid(pointer, 'must be a list');
  if (json.length < shape.minItems || json.length > (shape.maxItems ?? Number.POSITIVE_INFINITY)) {
    throw invalid(pointer, `must have ${shape.minItems} to ${shape.maxItems ?? 'any number of'} entries, has ${json.length}`);
  }
  return json.map((entry: Json, index) => fromJson(shape.entry, entry, `${pointer}/${index}`));
}

function structFromJson(shape: StructShape, json: Json, pointer: string): Record<string, unknown> {
  if (!isJsonObject(json)) throw invalid(pointer, 'must be an object');
  refuseUnknown(json, new Set(shape.fields.map(({ name }) => name)), pointer);
  const missing = shape.fields.find((field) => field.isRequired && json[field.name] === undefined);
  if (missing !== undefined) throw invalid(`${pointer}/${missing.name}`, 'is required');
  const entries = shape.fields.flatMap((field) => {
    const member = json[field.name];
    return member === undefined ? [] : [[field.name, fromJson(field.shape, member, `${pointer}/${field.name}`)]];
  });
  return Object.fromEntries(entries);
}

function refuseUnknown(json: object, known: ReadonlySet<string>, pointer: string): void {
  const unknown = Object.keys(json).find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw invalid(
    `${pointer}/${unknown}`,
    known.size > 0 ? `is not known; known are ${[...known].join(', ')}` : 'is not known; there are none',
  );
}

function refuse(pointer: string, reason: string): never {
  throw invalid(pointer, reason);
}

function invalid(pointer: string, reason: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `Value${pointer === '' ? '' : ` at ${pointer}`} ${reason}`, { errors: [{ pointer, reason }] });
}

/** Current attribute values of the device by camelCase name, for limits that depend on them. */
export type LiveState = Readonly<Record<string, unknown>>;

type MutableSchema = Record<string, unknown>;

const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';

/** Returns the JSON Schema (draft 2020-12) of a shape. With `state`, the schema includes the limits that depend on attributes. */
export function schemaOf(shape: ValueShape, state: LiveState = {}): JsonSchema {
  const schema = withNull(bareSchema(shape, state), shape.isNullable);
  return present({ ...schema, description: shape.description, 'x-unit': shape.unit, 'x-scale': shape.scale });
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
    case 'bytes':
      return octetsSchema(shape);
    case 'list':
      return { type: 'array', items: schemaOf(shape.entry), ...bounds('Items', shape.minItems, shape.maxItems) };
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

/** Returns the range of an integer, narrowed by the current values of the device's attributes. */
function rangeOf(shape: IntegerShape, state: LiveState): { readonly minimum: number; readonly maximum: number } {
  const [min, max] = [Number(shape.min), Number(shape.max)];
  const minimum = Math.max(min, live(shape.liveMin, state) ?? min);
  const maximum = Math.min(max, live(shape.liveMax, state) ?? max);
  // If the device's own limits exclude every value, they are wrong. Then only the range of the type is used.
  return minimum <= maximum ? { minimum, maximum } : { minimum: min, maximum: max };
}

function integerSchema(shape: IntegerShape, state: LiveState): MutableSchema {
  if (!shape.isWide) return { type: 'integer', ...rangeOf(shape, state) };
  const clamp = (value: bigint): number => Math.min(Math.max(Number(value), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  const integer = { type: 'integer', minimum: clamp(shape.min), maximum: clamp(shape.max) };
  return { anyOf: [integer, { type: 'string', pattern: '^-?[0-9]{1,20}$' }] };
}

function live(expression: LimitExpression | undefined, state: LiveState): number | undefined {
  return expression === undefined ? undefined : evaluateLimit(expression, state);
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

function octetsSchema({ kind, minBytes, maxBytes }: OctetsShape): MutableSchema {
  // JSON Schema counts code points, but Matter counts octets. So the schema allows some texts that `fromJson` then refuses.
  if (kind === 'text') return { type: 'string', ...bounds('Length', Math.ceil(minBytes / 4), maxBytes) };
  const encoded = (bytes: number): number => Math.ceil(bytes / 3) * 4;
  const maxLength = maxBytes === undefined ? undefined : encoded(maxBytes);
  return { type: 'string', contentEncoding: 'base64', pattern: BASE64, ...bounds('Length', encoded(minBytes), maxLength) };
}

function bounds(name: 'Length' | 'Items', min: number, max: number | undefined): MutableSchema {
  return { ...(min > 0 && { [`min${name}`]: min }), ...(max !== undefined && { [`max${name}`]: max }) };
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
