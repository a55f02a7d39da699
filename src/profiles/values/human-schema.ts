import { withDefaultOptions } from '../../core/devices/device-model.ts';
import { snakeCase } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, objectOf } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { isSchemaObject, mapSchema } from '../../tools/schema/schema-walk.ts';
import { isLineNumber, MATTER_SECRET_NAMES, withSecretMembers } from '../../tools/schema/secrets.ts';
import { enumNames, isNullable, propertiesOf, rawKind, requiredOf } from './converter.ts';

/** Returns the schema extended by null. */
export function orNullSchema(schema: JsonSchema): JsonSchema {
  if (isNullable(schema) || Object.keys(schema).every((key) => key === 'description')) return schema;
  const withEnum = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  if (schema.type === undefined) return { ...schema, ...withEnum };
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return { ...schema, type: [...types, 'null'], ...withEnum };
}

/** Returns a raw object schema. In it, each property has a description: its own description or else its name, followed by its unit. */
export const withDescriptions = oncePerObject((schema: JsonSchema): JsonSchema => {
  const entries = Object.entries(propertiesOf(schema)).map(([name, property]) => [
    name,
    { ...property, description: rawDescription(name, property) },
  ]);
  return { ...schema, type: 'object', properties: Object.fromEntries(entries), additionalProperties: false };
});

/** Returns a description of a raw value for people: the Matter model's text and the unit. */
export function rawDescription(name: string, schema: JsonSchema): string {
  const own = typeof schema.description === 'string' ? schema.description : name;
  const unit =
    typeof schema['x-unit'] === 'string' && schema['x-unit'] !== '' ? ` (raw: 1 is ${scaleText(schema)}${schema['x-unit']})` : '';
  const text = `${own}${unit}`;
  return text.length > 300 ? `${text.slice(0, 297)}...` : text;
}

function scaleText(schema: JsonSchema): string {
  const scale = typeof schema['x-scale'] === 'number' ? schema['x-scale'] : 1;
  return `${Number(scale.toPrecision(4))} `;
}

/** Returns default values for the required fields that callers may omit: an empty bitmap, or null for a nullable field. */
export function emptyFields(schema: JsonSchema): JsonObject {
  const fields = requiredOf(schema).flatMap((name): [string, Json][] => {
    const property = propertiesOf(schema)[name];
    if (property === undefined) return [];
    if (rawKind(property) === 'bitmap') return [[name, {}]];
    return isNullable(property) ? [[name, null]] : [];
  });
  return Object.fromEntries(fields);
}

/** Returns the raw fields of a command with enum names spelled as in the schema. Adds empty option bitmaps that the caller omitted. */
export function spelledFields(schema: JsonSchema, fields: JsonObject): JsonObject {
  return withDefaultOptions(spelledNames(schema, fields) as JsonObject, requiredOf(schema));
}

/** Returns a raw value with enum names spelled as in the schema. Accepts any letter case and snake_case (`emergency_heat`). */
export function spelledNames(schema: JsonSchema, value: Json): Json {
  if (typeof value === 'string') {
    const wanted = value.toLowerCase();
    return enumNames(schema).find((name) => [name.toLowerCase(), snakeCase(name)].includes(wanted)) ?? value;
  }
  if (Array.isArray(value)) return value.map((item) => spelledNames((schema.items ?? {}) as JsonSchema, item));
  if (!isJsonObject(value)) return value;
  const properties = propertiesOf(schema);
  const own = (name: string) => (Object.hasOwn(properties, name) ? properties[name] : undefined) ?? {};
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, spelledNames(own(name), member)]));
}

/** Returns the object with a value set at a dotted path. */
export function withValueAt(object: JsonObject, path: string, value: Json): JsonObject {
  const [head = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...object, [head]: value };
  const inner = object[head];
  return { ...object, [head]: withValueAt(objectOf(inner), rest.join('.'), value) };
}

/** Returns an example for a human schema: its default, its first name, `true` or a number. Undefined for all other schemas. */
export function sampleOf(schema: JsonSchema): Json | undefined {
  if (schema.default !== undefined) return schema.default as Json;
  const [name] = enumNames(schema);
  if (name !== undefined) return name;
  const kind = rawKind(schema);
  if (kind === 'boolean') return true;
  if (kind !== 'integer' && kind !== 'number') return undefined;
  const minimum = typeof schema.minimum === 'number' ? schema.minimum : 0;
  return Math.min(minimum, typeof schema.maximum === 'number' ? schema.maximum : minimum);
}

const lowerCase: ReadonlySet<string> = new Set(MATTER_SECRET_NAMES.map((name) => name.toLowerCase()));

/** Returns a schema of the Matter model in which secret fields are marked, at any depth. */
export function withSecretsMarked(schema: JsonSchema): JsonSchema {
  let hasSome = false;
  const marked = mapSchema(schema, (part) =>
    withSecretMembers(part, (name, member) => {
      const isSecret = lowerCase.has(name.toLowerCase()) && !isLineNumber(name, member);
      hasSome ||= isSecret;
      return isSecret;
    }),
  );
  // A schema without secrets is returned as the same object, because devices share schemas.
  return hasSome ? marked : schema;
}

/** The smallest and largest value of a number. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

const DAY_S = 86_400;

/**
 * Bounds by unit that no household device exceeds. Profiles narrow them for each parameter, and the device's own limits narrow them
 * further. The bounds of h and kWh are wide enough for counters over the lifetime of a device.
 */
const REASONABLE: Readonly<Record<string, Bounds>> = {
  s: { min: 0, max: 31 * DAY_S },
  min: { min: 0, max: (31 * DAY_S) / 60 },
  h: { min: 0, max: 876_000 },
  '°': { min: -360, max: 360 },
  '°C': { min: -60, max: 325 },
  '°C difference': { min: -100, max: 100 },
  K: { min: 1000, max: 20_000 },
  W: { min: -100_000, max: 100_000 },
  kW: { min: -100, max: 100 },
  VA: { min: -100_000, max: 100_000 },
  var: { min: -100_000, max: 100_000 },
  A: { min: -500, max: 500 },
  V: { min: -1500, max: 1500 },
  Ah: { min: 0, max: 10_000 },
  Hz: { min: 0, max: 1000 },
  Wh: { min: -1_000_000, max: 1_000_000 },
  kWh: { min: -1_000_000, max: 1_000_000 },
};

/** Returns the reasonable bounds of a unit; undefined for percentages, counts and plain numbers. */
export function reasonableBounds(unit: string): Bounds | undefined {
  return Object.hasOwn(REASONABLE, unit) ? REASONABLE[unit] : undefined;
}

/** Returns the schema of a number in human units, limited to the reasonable bounds of the unit. */
export function withinReason(schema: JsonSchema, unit: string): JsonSchema {
  const bounds = reasonableBounds(unit);
  return bounds && (schema.type === 'integer' || schema.type === 'number') ? withBounds(schema, bounds) : schema;
}

/** Returns the schema with each raw number, at any depth, limited to the reasonable bounds of the number's unit. */
export function rawWithinReason(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (part) => {
    const bounds = reasonableBounds(typeof part['x-unit'] === 'string' ? part['x-unit'] : '');
    const scale = typeof part['x-scale'] === 'number' ? part['x-scale'] : 1;
    return bounds ? rawPart(part, { min: Math.ceil(bounds.min / scale), max: Math.floor(bounds.max / scale) }) : part;
  });
}

/** Limits a number's schema to the bounds. Removes the text form for numbers beyond 2^53, because no reasonable number is that large. */
function rawPart(part: JsonSchema, bounds: Bounds): JsonSchema {
  if (!Array.isArray(part.anyOf)) return withBounds(part, bounds);
  const branches = part.anyOf.filter((one) => isSchemaObject(one) && one.pattern === undefined) as JsonSchema[];
  return { ...part, anyOf: branches.map((one) => (typeof one.minimum === 'number' ? withBounds(one, bounds) : one)) };
}

function withBounds(schema: JsonSchema, { min, max }: Bounds): JsonSchema {
  const { minimum = min, maximum = max } = schema as { minimum?: number; maximum?: number };
  const narrow = { minimum: Math.max(minimum, min), maximum: Math.min(maximum, max) };
  // If the two ranges do not overlap, the device's numbers have another meaning. Then the device's range remains.
  return narrow.minimum <= narrow.maximum ? { ...schema, ...narrow } : schema;
}
