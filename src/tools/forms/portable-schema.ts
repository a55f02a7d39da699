import { isJsonObject, type Json, type JsonSchema } from '../../core/json.ts';
import { isSchemaObject, mapSchema } from '../schema/schema-walk.ts';

/** What a schema is for: a model writes values for the one, and only reads those of the other. */
export type SchemaUse = 'input' | 'output';

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const;
type TypeName = (typeof TYPES)[number];

const NUMBER_KEYWORDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
/** Keywords that bound values of one type alone. */
const KEYWORDS: Readonly<Record<TypeName, readonly string[]>> = {
  string: ['pattern', 'minLength', 'maxLength', 'format', 'contentEncoding', 'contentMediaType'],
  number: NUMBER_KEYWORDS,
  integer: NUMBER_KEYWORDS,
  boolean: [],
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames', 'minProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'],
  null: [],
};
const OF_ONE_TYPE: ReadonlySet<string> = new Set(Object.values(KEYWORDS).flat());
/** Keywords under which schemas of values stand. */
const SINGLES = ['items', 'additionalProperties'];
const LISTS = ['anyOf', 'oneOf', 'prefixItems'];
const MAPS = ['properties', 'patternProperties'];
/** Keywords that decide by other schemas, of which nothing can be said here. */
const COMPOSED = ['$ref', 'allOf', 'not', 'if'];
/** What model servers refuse at the root of parameters; the hub holds calls against the whole schema all the same. */
const NOT_AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else'];

const OPEN_OBJECT = { type: 'object', properties: {}, additionalProperties: true };
const SCALARS = ['string', 'number', 'boolean', 'null'].map((type) => ({ type }));

/**
 * A schema that every model server takes, without our own `x-` keywords: one type at each place, branches as `anyOf`, every list with
 * `items` and every object with `properties`. Several servers refuse a whole request for one schema that has a list of types, or a list
 * without items. Where nothing can be said in this form the schema becomes wider, never narrower, but for lists of lists of lists in
 * values of any type.
 */
export function portableSchema(schema: JsonSchema, use: SchemaUse): JsonSchema {
  const plain = mapSchema(use === 'input' ? without(schema, NOT_AT_ROOT) : schema, withoutOwn);
  const properties = isSchemaObject(plain.properties) ? plain.properties : {};
  return within(whole({ ...plain, type: 'object', properties }, use), use);
}

/** The schema with all that it holds in portable form; conditions and what excludes stay, since wider there is narrower outside. */
function within(schema: JsonSchema, use: SchemaUse): JsonSchema {
  const inside = (child: unknown): unknown => (isSchemaObject(child) ? within(portable(child, use), use) : child);
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (SINGLES.includes(keyword)) return [keyword, inside(value)];
    if (LISTS.includes(keyword) && Array.isArray(value)) return [keyword, value.map(inside)];
    return MAPS.includes(keyword) && isSchemaObject(value) ? [keyword, mapMembers(value, inside)] : [keyword, value];
  });
  return Object.fromEntries(entries);
}

function mapMembers(members: JsonSchema, map: (member: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, map(member)]));
}

function portable(schema: JsonSchema, use: SchemaUse): JsonSchema {
  const branches = schema.anyOf ?? (use === 'input' ? schema.oneOf : undefined);
  if (Array.isArray(branches)) {
    const rest = without(schema, ['anyOf', ...(use === 'input' ? ['oneOf'] : []), ...(Array.isArray(schema.type) ? ['type'] : [])]);
    return {
      ...whole(rest, use),
      anyOf: branchesFor(
        branches.map((branch: unknown) => (isSchemaObject(branch) ? branch : {})),
        use,
      ),
    };
  }
  const types = typesOf(schema);
  const [only] = types;
  if (only !== undefined && types.length === 1) return whole({ ...schema, type: only }, use);
  // A list of every type says what no list says.
  if (types.length === 0 || (use === 'output' && isEveryType(types) && !Array.isArray(schema.enum))) {
    const { type: _, ...untyped } = schema;
    const isSaid = use === 'output' || [...COMPOSED, 'oneOf'].some((keyword) => keyword in schema);
    return isSaid ? untyped : { ...untyped, anyOf: anyValue(2) };
  }
  const shared = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !OF_ONE_TYPE.has(keyword) && keyword !== 'type' && keyword !== 'enum'),
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
 * Adapters that know no branches keep the members of objects among them, and refuse every other value then. An object that is no
 * branch itself but holds one is none to them, and the same to everybody else.
 */
function branchesFor(branches: readonly JsonSchema[], use: SchemaUse): readonly JsonSchema[] {
  if (use === 'output' || branches.every(isObjectSchema)) return branches;
  return branches.map((branch) => (isObjectSchema(branch) ? { anyOf: [branch] } : branch));
}

function isObjectSchema({ type, properties }: JsonSchema): boolean {
  return type === 'object' || isSchemaObject(properties);
}

/** The part of a schema that is about values of one type; nothing where none of its values has that type. */
function branchOf(schema: JsonSchema, type: TypeName): readonly JsonSchema[] {
  const rules = Object.fromEntries(Object.entries(schema).filter(([keyword]) => KEYWORDS[type].includes(keyword)));
  if (!Array.isArray(schema.enum)) return [{ type, ...rules }];
  const values = (schema.enum as readonly Json[]).filter((value) => isOfType(value, type));
  return values.length === 0 ? [] : [{ type, ...rules, ...(type !== 'null' && { enum: values }) }];
}

/** With the members that servers want of a list and of an object. */
function whole(schema: JsonSchema, use: SchemaUse): JsonSchema {
  if (schema.type === 'array' && !isSchemaObject(schema.items)) {
    return { ...schema, items: use === 'input' ? { anyOf: anyValue(1) } : {} };
  }
  if (schema.type !== 'object') return schema;
  // The form of names is one more keyword that not every server knows.
  const { additionalProperties: others, propertyNames: _, ...rest } = schema;
  const open = isSchemaObject(others) && Object.keys(withoutOwn(others)).length === 0 ? true : others;
  if (!isSchemaObject(schema.properties)) return { ...rest, properties: {}, additionalProperties: open ?? true };
  const properties = mapMembers(schema.properties, (member) => (isSchemaObject(member) ? member : {}));
  return { ...rest, properties, ...(open !== undefined && { additionalProperties: open }) };
}

/** Any JSON, with so many lists within each other. */
function anyValue(lists: number): readonly JsonSchema[] {
  const list = lists === 0 ? [] : [{ type: 'array', items: { anyOf: anyValue(lists - 1) } }];
  return [...SCALARS, { anyOf: [OPEN_OBJECT] }, ...list];
}

/** The types that a schema names, or that its values and members show; none where it says nothing of the type. */
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

function withoutOwn(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keyword.startsWith('x-')));
}

function without(schema: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));
}
