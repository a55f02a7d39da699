import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { isSchemaObject, visitSchema } from '../schema/schema-walk.ts';

/** Keywords that OpenAI's strict mode understands as they are. */
const KEPT = ['description', 'pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems'];
const FORMATS: ReadonlySet<unknown> = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);
/** What cannot be said in it. */
const BEYOND = ['allOf', 'not', 'if', 'then', 'else', 'patternProperties', 'dependentRequired', 'dependentSchemas', 'prefixItems', '$ref'];

/** How large a schema may be for it: object properties in all, objects within objects, values of enums in all. */
const LIMITS = { properties: 5_000, depth: 10, values: 1_000 } as const;

/**
 * Parameters as OpenAI's strict mode wants them: every object closed, every member required, and what may be left out also
 * null. Undefined where that is not possible, such as for objects whose members are not known beforehand.
 */
export function toStrictSchema(schema: JsonSchema): JsonObject | undefined {
  const strict = strictOf(schema);
  return strict?.type === 'object' && isWithinLimits(strict) ? strict : undefined;
}

/**
 * Parameters without the nulls with which a model in strict mode says that it leaves something out: those of members that are
 * not required and whose schema takes no null.
 */
export function withoutStrictNulls(schema: JsonSchema, params: JsonObject): JsonObject {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const given = Object.entries(params).filter(([name, value]) => {
    const member = properties[name];
    return value !== null || member === undefined || required.includes(name) || takesNull(member);
  });
  return Object.fromEntries(given.map(([name, value]): [string, Json] => [name, cleared(properties[name], value)]));
}

function cleared(schema: unknown, value: Json): Json {
  if (!isSchemaObject(schema)) return value;
  if (Array.isArray(value)) return value.map((item: Json) => cleared(schema.items, item));
  return isJsonObject(value) ? withoutStrictNulls(schema, value) : value;
}

function takesNull(schema: unknown): boolean {
  if (!isSchemaObject(schema)) return true;
  const { type, const: only } = schema;
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  if (only !== undefined) return only === null;
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (branches) return branches.some(takesNull);
  return type === undefined || [type].flat().includes('null');
}

function strictOf(schema: JsonSchema): JsonObject | undefined {
  if (BEYOND.some((keyword) => keyword in schema)) return undefined;
  const kept = Object.fromEntries(KEPT.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword] as Json]));
  const about = { ...kept, ...(FORMATS.has(schema.format) && { format: schema.format as Json }) };
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (branches) return withAll(about, 'anyOf', branches);
  if (Array.isArray(schema.enum)) return { ...about, ...typeOf(schema), enum: schema.enum as Json };
  if (schema.const !== undefined) return { ...about, ...typeOf(schema), const: schema.const as Json };
  const types = [schema.type].flat();
  if (types.length === 1 && types[0] === 'object') return strictObject(schema, about);
  if (types.length === 1 && types[0] === 'array') return strictList(schema, about);
  if (types.some((type) => typeof type !== 'string' || type === 'object' || type === 'array')) return undefined;
  return { ...about, type: schema.type as Json };
}

function strictObject(schema: JsonSchema, about: JsonObject): JsonObject | undefined {
  const isClosed = schema.additionalProperties === false || isSchemaObject(schema.properties);
  if (!isClosed || schema.additionalProperties === true || isSchemaObject(schema.additionalProperties)) return undefined;
  const required = requiredOf(schema);
  const members: [string, JsonObject][] = [];
  for (const [name, member] of Object.entries(propertiesOf(schema))) {
    const strict = isSchemaObject(member) ? strictOf(member) : undefined;
    if (!strict) return undefined;
    members.push([name, required.includes(name) || takesNull(member) ? strict : orNull(strict)]);
  }
  const names = members.map(([name]) => name);
  return { ...about, type: 'object', properties: Object.fromEntries(members), required: names, additionalProperties: false };
}

function strictList(schema: JsonSchema, about: JsonObject): JsonObject | undefined {
  const items = isSchemaObject(schema.items) ? strictOf(schema.items) : undefined;
  return items && { ...about, type: 'array', items };
}

function withAll(about: JsonObject, keyword: string, branches: readonly unknown[]): JsonObject | undefined {
  const strict = branches.map((branch) => (isSchemaObject(branch) ? strictOf(branch) : undefined));
  return strict.every((branch) => branch !== undefined) ? { ...about, [keyword]: strict } : undefined;
}

function orNull(schema: JsonObject): JsonObject {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  const { description, ...rest } = schema;
  return { ...(description !== undefined && { description }), anyOf: [rest, { type: 'null' }] };
}

function isWithinLimits(strict: JsonObject): boolean {
  let properties = 0;
  let values = 0;
  visitSchema(strict, (schema) => {
    properties += Object.keys(propertiesOf(schema)).length;
    values += Array.isArray(schema.enum) ? schema.enum.length : 0;
  });
  return properties <= LIMITS.properties && values <= LIMITS.values && depthOf(strict) <= LIMITS.depth;
}

function depthOf(schema: JsonSchema): number {
  const { items, anyOf } = schema;
  const inside = [...Object.values(propertiesOf(schema)), ...(Array.isArray(anyOf) ? anyOf : []), items].filter(isSchemaObject);
  return (schema.type === 'object' ? 1 : 0) + Math.max(0, ...inside.map(depthOf));
}

/** Strict mode wants a type beside the values. */
function typeOf({ type, enum: values, const: only }: JsonSchema): JsonObject {
  if (type !== undefined) return { type: type as Json };
  const types = [...new Set((Array.isArray(values) ? values : [only]).map((value: unknown) => (value === null ? 'null' : typeof value)))];
  return { type: types.length === 1 ? (types[0] as Json) : types };
}

function requiredOf({ required }: JsonSchema): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

function propertiesOf({ properties }: JsonSchema): JsonSchema {
  return isSchemaObject(properties) ? properties : {};
}
