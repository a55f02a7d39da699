import { withDefaultOptions } from '../../core/devices/device-model.ts';
import { snakeCase } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { isSchemaObject, mapSchema, visitSchema } from '../../tools/schema/schema-walk.ts';
import { isLineNumber, MATTER_SECRET_NAMES } from '../../tools/schema/secrets.ts';
import { enumNames, isNullable, rawKind } from './converter.ts';

/** A schema that allows null as well. */
export function orNullSchema(schema: JsonSchema): JsonSchema {
  if (isNullable(schema) || Object.keys(schema).every((key) => key === 'description')) return schema;
  const withEnum = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  if (schema.type === undefined) return { ...schema, ...withEnum };
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return { ...schema, type: [...types, 'null'], ...withEnum };
}

const described = new WeakMap<JsonSchema, JsonSchema>();

/** A raw object schema whose every property has a description: its own, or its name and unit. Made once per schema. */
export function withDescriptions(schema: JsonSchema): JsonSchema {
  const known = described.get(schema);
  if (known) return known;
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const entries = Object.entries(properties).map(([name, property]) => [
    name,
    { ...property, description: rawDescription(name, property) },
  ]);
  const result = { ...schema, type: 'object', properties: Object.fromEntries(entries), additionalProperties: false };
  described.set(schema, result);
  return result;
}

/** What a raw value is, for people: the model's words, unit and range. */
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

/** Raw request fields with what the command demands and nobody has to think about: empty bitmaps, and null where null is a value. */
export function completeFields(schema: JsonSchema, fields: JsonObject): JsonObject {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const missing = required.flatMap((name): [string, Json][] => {
    const property = properties[name];
    if (name in fields || property === undefined) return [];
    if (rawKind(property) === 'bitmap') return [[name, {}]];
    return isNullable(property) ? [[name, null]] : [];
  });
  return { ...fields, ...Object.fromEntries(missing) };
}

/** Raw request fields as a caller may leave them: options that are missing are empty, names of enums are spelled as the schema does. */
export function spelledFields(schema: JsonSchema, fields: JsonObject): JsonObject {
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  return withDefaultOptions(spelledNames(schema, fields) as JsonObject, required);
}

/** A raw value whose names of enums may be given in any case, or as people's tools spell them (`emergency_heat`). */
export function spelledNames(schema: JsonSchema, value: Json): Json {
  if (typeof value === 'string') return enumNames(schema).find((name) => isSameName(name, value)) ?? value;
  if (Array.isArray(value)) return value.map((item) => spelledNames((schema.items ?? {}) as JsonSchema, item));
  if (!isJsonObject(value)) return value;
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    Object.hasOwn(properties, name) ? spelledNames(properties[name] ?? {}, member) : member,
  ]);
  return Object.fromEntries(entries) as JsonObject;
}

function isSameName(name: string, given: string): boolean {
  return name.toLowerCase() === given.toLowerCase() || snakeCase(name) === given.toLowerCase();
}

/** Puts a value at a path with dots. */
export function withValueAt(object: JsonObject, path: string, value: Json): JsonObject {
  const [head = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...object, [head]: value };
  const inner = object[head];
  return { ...object, [head]: withValueAt(isJsonObject(inner) ? inner : {}, rest.join('.'), value) };
}

/** The value at a path with dots. */
export function valueAt(object: JsonObject, path: string): Json | undefined {
  return path.split('.').reduce<Json | undefined>((at, name) => (isJsonObject(at) ? at[name] : undefined), object);
}

/** A value that fits the human schema of one parameter, for examples; undefined when there is none at hand. */
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

/** A schema of the model with the fields marked that carry secrets, however deep they lie. */
export function withSecretsMarked(schema: JsonSchema): JsonSchema {
  let hasSome = false;
  visitSchema(schema, ({ properties }) => {
    hasSome ||= isSchemaObject(properties) && Object.keys(properties).some(isSecretName);
  });
  // Most have none, and are shared by all devices.
  if (!hasSome) return schema;
  return mapSchema(schema, (part) => (isSchemaObject(part.properties) ? { ...part, properties: marked(part.properties) } : part));
}

function isSecretName(name: string): boolean {
  return lowerCase.has(name.toLowerCase());
}

function marked(properties: JsonSchema): JsonSchema {
  const members = Object.entries(properties).map(([name, property]) => {
    const isSecret = isSecretName(name) && isSchemaObject(property) && !isLineNumber(name, property);
    return [name, isSecret ? { ...property, 'x-secret': true } : property];
  });
  return Object.fromEntries(members);
}
