import { withDefaultOptions } from '../../core/devices/device-model.ts';
import { snakeCase } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { isSchemaObject, mapSchema } from '../../tools/schema/schema-walk.ts';
import { isLineNumber, MATTER_SECRET_NAMES, withSecretMembers } from '../../tools/schema/secrets.ts';
import { enumNames, isNullable, propertiesOf, rawKind, requiredOf } from './converter.ts';

/** Returns a schema that allows null as well. */
export function orNullSchema(schema: JsonSchema): JsonSchema {
  if (isNullable(schema) || Object.keys(schema).every((key) => key === 'description')) return schema;
  const withEnum = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  if (schema.type === undefined) return { ...schema, ...withEnum };
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return { ...schema, type: [...types, 'null'], ...withEnum };
}

/** A raw object schema in which each property has a description: its own, or its name and unit. */
export const withDescriptions = oncePerObject((schema: JsonSchema): JsonSchema => {
  const entries = Object.entries(propertiesOf(schema)).map(([name, property]) => [
    name,
    { ...property, description: rawDescription(name, property) },
  ]);
  return { ...schema, type: 'object', properties: Object.fromEntries(entries), additionalProperties: false };
});

/** Returns a description of a raw value for people: the model's words, and the unit. */
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

/** Returns the required fields that no caller has to give: empty bitmaps, and null if null is a value. */
export function emptyFields(schema: JsonSchema): JsonObject {
  const fields = requiredOf(schema).flatMap((name): [string, Json][] => {
    const property = propertiesOf(schema)[name];
    if (property === undefined) return [];
    if (rawKind(property) === 'bitmap') return [[name, {}]];
    return isNullable(property) ? [[name, null]] : [];
  });
  return Object.fromEntries(fields);
}

/** Raw request fields of a caller, with empty options for those that are missing and the names of enums in the spelling of the schema. */
export function spelledFields(schema: JsonSchema, fields: JsonObject): JsonObject {
  return withDefaultOptions(spelledNames(schema, fields) as JsonObject, requiredOf(schema));
}

/** Returns the raw value with the names of enums in the spelling of the schema, from any case or from snake_case (`emergency_heat`). */
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

/** Returns the object with a value at a path with dots. */
export function withValueAt(object: JsonObject, path: string, value: Json): JsonObject {
  const [head = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...object, [head]: value };
  const inner = object[head];
  return { ...object, [head]: withValueAt(isJsonObject(inner) ? inner : {}, rest.join('.'), value) };
}

/**
 * Returns a value that fits the human schema of a parameter, for examples; undefined for a schema that has no default, names or numbers.
 */
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

/** Returns a schema of the model in which fields that carry secrets are marked, at any depth. */
export function withSecretsMarked(schema: JsonSchema): JsonSchema {
  let hasSome = false;
  const marked = mapSchema(schema, (part) =>
    withSecretMembers(part, (name, member) => {
      const isSecret = lowerCase.has(name.toLowerCase()) && !isLineNumber(name, member);
      hasSome ||= isSecret;
      return isSecret;
    }),
  );
  // All devices share the schemas, and most have no secrets.
  return hasSome ? marked : schema;
}

/** Lowest and highest value. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

const DAY_S = 86_400;

/**
 * Bounds by unit that no device of a home exceeds. Profiles narrow them for each parameter, and the device's own limits further.
 * Counters over a device's whole life have wide bounds.
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

/** Returns the reasonable bounds of a unit; undefined for shares, counts and plain numbers. */
export function reasonableBounds(unit: string): Bounds | undefined {
  return Object.hasOwn(REASONABLE, unit) ? REASONABLE[unit] : undefined;
}

/** Returns the schema of human numbers, within the reasonable bounds of their unit. */
export function withinReason(schema: JsonSchema, unit: string): JsonSchema {
  const bounds = reasonableBounds(unit);
  return bounds && (schema.type === 'integer' || schema.type === 'number') ? withBounds(schema, bounds) : schema;
}

/** Returns the schema of raw numbers, at any depth, within the reasonable bounds of the units in the Matter model. */
export function rawWithinReason(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (part) => {
    const bounds = reasonableBounds(typeof part['x-unit'] === 'string' ? part['x-unit'] : '');
    const scale = typeof part['x-scale'] === 'number' ? part['x-scale'] : 1;
    return bounds ? rawPart(part, { min: Math.ceil(bounds.min / scale), max: Math.floor(bounds.max / scale) }) : part;
  });
}

/** A 64-bit number may be a number or, beyond 2^53, a text: no reasonable value needs the text. */
function rawPart(part: JsonSchema, bounds: Bounds): JsonSchema {
  if (!Array.isArray(part.anyOf)) return withBounds(part, bounds);
  const branches = part.anyOf.filter((one) => isSchemaObject(one) && one.pattern === undefined) as JsonSchema[];
  return { ...part, anyOf: branches.map((one) => (typeof one.minimum === 'number' ? withBounds(one, bounds) : one)) };
}

function withBounds(schema: JsonSchema, { min, max }: Bounds): JsonSchema {
  const { minimum = min, maximum = max } = schema as { minimum?: number; maximum?: number };
  const narrow = { minimum: Math.max(minimum, min), maximum: Math.min(maximum, max) };
  // A device whose own range lies elsewhere keeps it: its numbers then mean something else than the table's.
  return narrow.minimum <= narrow.maximum ? { ...schema, ...narrow } : schema;
}
