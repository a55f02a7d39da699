import { AtmoError } from '../../core/errors.ts';
import { visibleText } from '../../core/foreign-text.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { type LiveState, rangeOf } from './value-schema.ts';
import type { BitmapShape, BytesShape, EnumShape, IntegerShape, ListShape, StructShape, TextShape, ValueShape } from './value-shape.ts';

/**
 * A matter.js value in the JSON form of its shape's schema: enums by name, bitmaps as objects with every flag, octets as
 * base64, integers beyond 2^53 as decimal text, texts without hidden characters. Never throws: what does not fit the shape goes out in its plain JSON form.
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

/** The matter.js value of a JSON value; VALIDATION_ERROR names the JSON pointer and what is allowed there. */
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
      return textFromJson(shape, json, pointer);
    case 'bytes':
      return bytesFromJson(shape, json, pointer);
    case 'list':
      return listFromJson(shape, json, pointer);
    case 'struct':
      return structFromJson(shape, json, pointer);
    case 'any':
      return json;
  }
}

/** Throws VALIDATION_ERROR for a number outside the limits that the device's attributes set now. */
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
  // Track titles, mode labels, names of networks and fabrics: a device writes them, and people and models read them.
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

function textFromJson(shape: TextShape, json: Json, pointer: string): string {
  if (typeof json !== 'string') throw invalid(pointer, 'must be a text');
  refuseLength(shape, Buffer.byteLength(json), pointer);
  return json;
}

function bytesFromJson(shape: BytesShape, json: Json, pointer: string): Uint8Array {
  if (typeof json !== 'string') throw invalid(pointer, 'must be base64 text');
  const bytes = Buffer.from(json, 'base64');
  if (bytes.toString('base64') !== json) throw invalid(pointer, 'must be base64 text with padding (RFC 4648 §4)');
  refuseLength(shape, bytes.length, pointer);
  return new Uint8Array(bytes);
}

function refuseLength(shape: TextShape | BytesShape, bytes: number, pointer: string): void {
  if (bytes >= shape.minBytes && bytes <= (shape.maxBytes ?? Number.POSITIVE_INFINITY)) return;
  throw invalid(pointer, `must be ${shape.minBytes} to ${shape.maxBytes ?? 'any number of'} octets long, is ${bytes}`);
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
