import { isJsonObject, type JsonSchema } from '../json.ts';

/**
 * The part of a schema that a value can meet: members that the value lacks go, unless a default or the schema itself names them. It
 * decides, fills in and tells the same, and it takes a fraction of the time and memory to compile where the schema is large.
 */
export function neededSchema(schema: JsonSchema, value: unknown): JsonSchema {
  const { properties, required, additionalProperties } = schema;
  if (!isJsonObject(value)) return schema;
  const known: Readonly<Record<string, unknown>> = isSchema(properties) ? properties : {};
  const named: readonly unknown[] = Array.isArray(required) ? required : [];
  const met = Object.entries(known).flatMap(([name, part]) => {
    if (Object.hasOwn(value, name)) return [[name, partOf(part, value[name])]];
    if (isSchema(part) && 'default' in part) return [[name, partOf(part, part.default)]];
    // The names of members that have to be there help to tell which is misspelt.
    return named.includes(name) ? [[name, {}]] : [];
  });
  const hasMore = Object.keys(value).some((name) => !Object.hasOwn(known, name));
  return {
    ...schema,
    ...(isSchema(properties) && { properties: Object.fromEntries(met) as JsonSchema }),
    ...(isSchema(additionalProperties) && !hasMore && { additionalProperties: {} }),
  };
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

const partOf = (part: unknown, value: unknown): unknown => (isSchema(part) ? neededSchema(part, value) : part);
