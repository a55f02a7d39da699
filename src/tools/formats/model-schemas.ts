import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { isSchemaObject, mapSchema, propertiesOf, requiredOf, visitSchema } from '../schema/schema-walk.ts';

/** How a model uses a schema: it writes values of an `input` schema, and reads values of an `output` schema. */
export type SchemaUse = 'input' | 'output';

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const;
type TypeName = (typeof TYPES)[number];

const NUMBER_KEYWORDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
/** For each type, the schema keywords that apply to its values. */
const KEYWORDS: Readonly<Record<TypeName, readonly string[]>> = {
  string: ['pattern', 'minLength', 'maxLength', 'format', 'contentEncoding', 'contentMediaType'],
  number: NUMBER_KEYWORDS,
  integer: NUMBER_KEYWORDS,
  boolean: [],
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames', 'minProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'],
  null: [],
};
const TYPE_KEYWORDS: ReadonlySet<string> = new Set(Object.values(KEYWORDS).flat());
/** Keywords whose value is one schema. */
const SINGLE_SCHEMA_KEYWORDS = ['items', 'additionalProperties'];
const SCHEMA_LIST_KEYWORDS = ['anyOf', 'oneOf', 'prefixItems'];
const SCHEMA_MAP_KEYWORDS = ['properties', 'patternProperties'];
/** Keywords that combine or refer to schemas, and have no portable form. */
const COMPOSING_KEYWORDS = ['$ref', 'allOf', 'not', 'if'];
/** Keywords that model servers refuse at the root of a parameter schema. Models do not get them, but the hub checks them in calls. */
const NOT_AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else'];

const OPEN_OBJECT = { type: 'object', properties: {}, additionalProperties: true };
const SCALARS = ['string', 'number', 'boolean', 'null'].map((type) => ({ type }));

/**
 * Returns a schema that every model server accepts. One unaccepted schema can make a server refuse the whole request. The result has
 * no `x-` keywords, at most one type in each place, alternatives in `anyOf`, `items` for every list and `properties` for every object. A
 * part without a portable form becomes wider, never narrower. Exception: where any value is allowed, lists nest at most two levels.
 */
export function portableSchema(schema: JsonSchema, use: SchemaUse): JsonSchema {
  const plain = mapSchema(use === 'input' ? withoutKeywords(schema, NOT_AT_ROOT) : schema, withoutOwnKeywords);
  return withinSchema(withRequiredMembers({ ...plain, type: 'object', properties: propertiesOf(plain) }, use), use);
}

/** Makes the subschemas portable, which can widen them. Keeps conditions and `not`, since a wider schema there would narrow the result. */
function withinSchema(schema: JsonSchema, use: SchemaUse): JsonSchema {
  const inside = (child: unknown): unknown => (isSchemaObject(child) ? withinSchema(portable(child, use), use) : child);
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (SINGLE_SCHEMA_KEYWORDS.includes(keyword)) return [keyword, inside(value)];
    if (SCHEMA_LIST_KEYWORDS.includes(keyword) && Array.isArray(value)) return [keyword, value.map(inside)];
    return SCHEMA_MAP_KEYWORDS.includes(keyword) && isSchemaObject(value) ? [keyword, mapMembers(value, inside)] : [keyword, value];
  });
  return Object.fromEntries(entries);
}

function mapMembers(members: JsonSchema, map: (member: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, map(member)]));
}

function portable(schema: JsonSchema, use: SchemaUse): JsonSchema {
  const branches = schema.anyOf ?? (use === 'input' ? schema.oneOf : undefined);
  if (Array.isArray(branches)) {
    const rest = withoutKeywords(schema, ['anyOf', ...(use === 'input' ? ['oneOf'] : []), ...(Array.isArray(schema.type) ? ['type'] : [])]);
    return {
      ...withRequiredMembers(rest, use),
      anyOf: branchesFor(
        branches.map((branch: unknown) => (isSchemaObject(branch) ? branch : {})),
        use,
      ),
    };
  }
  const types = typesOf(schema);
  const [only] = types;
  if (only !== undefined && types.length === 1) return withRequiredMembers({ ...schema, type: only }, use);
  // A schema that lists all types allows the same values as a schema without `type`.
  if (types.length === 0 || (use === 'output' && isEveryType(types) && !Array.isArray(schema.enum))) {
    const { type: _, ...untyped } = schema;
    const isSaid = use === 'output' || [...COMPOSING_KEYWORDS, 'oneOf'].some((keyword) => keyword in schema);
    return isSaid ? untyped : { ...untyped, anyOf: anyValue(2) };
  }
  const shared = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !TYPE_KEYWORDS.has(keyword) && keyword !== 'type' && keyword !== 'enum'),
  );
  return {
    ...shared,
    anyOf: branchesFor(
      types.flatMap((type) => branchOf(schema, type)),
      use,
    ),
  };
}

/**
 * Returns the alternatives of an `anyOf`. If only some are objects, wraps each object in an `anyOf` of its own, which means the same. Some
 * clients merge unwrapped objects into one object schema, and then refuse values of the other alternatives.
 */
function branchesFor(branches: readonly JsonSchema[], use: SchemaUse): readonly JsonSchema[] {
  if (use === 'output' || branches.every(isObjectSchema)) return branches;
  return branches.map((branch) => (isObjectSchema(branch) ? { anyOf: [branch] } : branch));
}

function isObjectSchema({ type, properties }: JsonSchema): boolean {
  return type === 'object' || isSchemaObject(properties);
}

/** Returns a list with the part of the schema for values of one type. The list is empty if the schema allows no value of this type. */
function branchOf(schema: JsonSchema, type: TypeName): readonly JsonSchema[] {
  const rules = Object.fromEntries(Object.entries(schema).filter(([keyword]) => KEYWORDS[type].includes(keyword)));
  if (!Array.isArray(schema.enum)) return [{ type, ...rules }];
  const values = (schema.enum as readonly Json[]).filter((value) => isOfType(value, type));
  return values.length === 0 ? [] : [{ type, ...rules, ...(type !== 'null' && { enum: values }) }];
}

/** Adds the keywords that servers require: `items` for lists, `properties` for objects. */
function withRequiredMembers(schema: JsonSchema, use: SchemaUse): JsonSchema {
  if (schema.type === 'array' && !isSchemaObject(schema.items)) {
    return { ...schema, items: use === 'input' ? { anyOf: anyValue(1) } : {} };
  }
  if (schema.type !== 'object') return schema;
  // The portable schema has no `propertyNames`, since not every server supports it.
  const { additionalProperties: others, propertyNames: _, ...rest } = schema;
  const open = isSchemaObject(others) && Object.keys(withoutOwnKeywords(others)).length === 0 ? true : others;
  if (!isSchemaObject(schema.properties)) return { ...rest, properties: {}, additionalProperties: open ?? true };
  const properties = mapMembers(schema.properties, (member) => (isSchemaObject(member) ? member : {}));
  return { ...rest, properties, ...(open !== undefined && { additionalProperties: open }) };
}

/** Returns alternatives that together allow any JSON value, except lists that are nested more than `lists` levels deep. */
function anyValue(lists: number): readonly JsonSchema[] {
  const list = lists === 0 ? [] : [{ type: 'array', items: { anyOf: anyValue(lists - 1) } }];
  return [...SCALARS, { anyOf: [OPEN_OBJECT] }, ...list];
}

/** Returns the types that a schema allows. Uses the first keyword found, in this order: `type`, `enum`, `const`, `properties`, `items`. */
function typesOf(schema: JsonSchema): readonly TypeName[] {
  const named = [schema.type].flat().filter((type): type is TypeName => TYPES.some((known) => known === type));
  if (named.length > 0) return named;
  const values = Array.isArray(schema.enum) ? (schema.enum as readonly Json[]) : schema.const === undefined ? [] : [schema.const as Json];
  if (values.length > 0) return TYPES.filter((type) => type !== 'integer' && values.some((value) => isOfType(value, type)));
  if (isJsonObject(schema.properties as Json)) return ['object'];
  return isSchemaObject(schema.items) ? ['array'] : [];
}

function isEveryType(types: readonly TypeName[]): boolean {
  return TYPES.every((type) => type === 'integer' || types.includes(type));
}

function isOfType(value: Json, type: TypeName): boolean {
  if (value === null) return type === 'null';
  if (Array.isArray(value)) return type === 'array';
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

function withoutOwnKeywords(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keyword.startsWith('x-')));
}

function withoutKeywords(schema: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));
}

/** Keywords that OpenAI's strict mode supports. */
const STRICT_KEYWORDS = [
  'description',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
];
const STRICT_FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);
/** Keywords that OpenAI's strict mode does not support. */
const UNSUPPORTED_KEYWORDS = [
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
  'prefixItems',
  '$ref',
];

/** Limits of OpenAI's strict mode for one schema: number of properties, depth of nested objects, number of enum values. */
const STRICT_LIMITS = { properties: 5_000, depth: 10, values: 1_000 } as const;

/**
 * Returns parameters for OpenAI's strict mode. In the result, every object is closed and requires all of its members. A member that was
 * optional may be null instead. Returns undefined if strict mode cannot express the schema, such as an object with undeclared members.
 */
export function toStrictSchema(schema: JsonSchema): JsonObject | undefined {
  const strict = strictOf(schema);
  return strict?.type === 'object' && isWithinLimits(strict) ? strict : undefined;
}

/** Removes the nulls that models write in strict mode to omit optional members. Keeps a null that the schema allows. */
export function withoutStrictNulls(schema: JsonSchema, params: JsonObject): JsonObject {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const given = Object.entries(params).filter(([name, value]) => {
    const member = properties[name];
    return value !== null || member === undefined || required.includes(name) || acceptsNull(member);
  });
  return Object.fromEntries(given.map(([name, value]): [string, Json] => [name, withoutNulls(properties[name], value)]));
}

function withoutNulls(schema: unknown, value: Json): Json {
  if (!isSchemaObject(schema)) return value;
  if (Array.isArray(value)) return value.map((item: Json) => withoutNulls(schema.items, item));
  return isJsonObject(value) ? withoutStrictNulls(schema, value) : value;
}

function acceptsNull(schema: unknown): boolean {
  if (!isSchemaObject(schema)) return true;
  const { type, const: only } = schema;
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  if (only !== undefined) return only === null;
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (branches) return branches.some(acceptsNull);
  return type === undefined || [type].flat().includes('null');
}

function strictOf(schema: JsonSchema): JsonObject | undefined {
  if (UNSUPPORTED_KEYWORDS.some((keyword) => keyword in schema)) return undefined;
  const kept = Object.fromEntries(
    STRICT_KEYWORDS.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword] as Json]),
  );
  const about = { ...kept, ...(STRICT_FORMATS.has(schema.format) && { format: schema.format as Json }) };
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (branches) return withBranches(about, 'anyOf', branches);
  if (Array.isArray(schema.enum)) return { ...about, ...strictType(schema), enum: schema.enum as Json };
  if (schema.const !== undefined) return { ...about, ...strictType(schema), const: schema.const as Json };
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
    members.push([name, required.includes(name) || acceptsNull(member) ? strict : orNull(strict)]);
  }
  const names = members.map(([name]) => name);
  return { ...about, type: 'object', properties: Object.fromEntries(members), required: names, additionalProperties: false };
}

function strictList(schema: JsonSchema, about: JsonObject): JsonObject | undefined {
  const items = isSchemaObject(schema.items) ? strictOf(schema.items) : undefined;
  return items && { ...about, type: 'array', items };
}

function withBranches(about: JsonObject, keyword: string, branches: readonly unknown[]): JsonObject | undefined {
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
  return properties <= STRICT_LIMITS.properties && values <= STRICT_LIMITS.values && depthOf(strict) <= STRICT_LIMITS.depth;
}

function depthOf(schema: JsonSchema): number {
  const { items, anyOf } = schema;
  const inside = [...Object.values(propertiesOf(schema)), ...(Array.isArray(anyOf) ? anyOf : []), items].filter(isSchemaObject);
  return (schema.type === 'object' ? 1 : 0) + Math.max(0, ...inside.map(depthOf));
}

/** Returns the type of a schema. If it has no `type`, derives the type from its values, because strict mode requires a type. */
function strictType({ type, enum: values, const: only }: JsonSchema): JsonObject {
  if (type !== undefined) return { type: type as Json };
  const types = [...new Set((Array.isArray(values) ? values : [only]).map((value: unknown) => (value === null ? 'null' : typeof value)))];
  return { type: types.length === 1 ? (types[0] as Json) : types };
}
