import type { JsonSchema } from '../json.ts';

/** The schema of a part of the configuration file whose keys are all known; it is there with its defaults where the file has none. */
export const section = (properties: Readonly<Record<string, JsonSchema>>) =>
  ({ type: 'object', additionalProperties: false, default: {}, properties }) as const;

/** The same for a part that is only there where the owner wrote it. */
export const optionalSection = (properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []) =>
  ({ type: 'object', additionalProperties: false, properties, required }) as const;

/**
 * A part of the file with the keys that its schema names in camelCase; names that the owner chose (`additionalProperties`) stay
 * as they are.
 */
export function camelKeys(value: unknown, schema: JsonSchema): unknown {
  if (Array.isArray(value)) return value.map((item) => camelKeys(item, schemaAt(schema, 'items')));
  if (typeof value !== 'object' || value === null) return value;
  const known = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const own = Object.hasOwn(known, key) ? known[key] : undefined;
      return own ? [camelCase(key), camelKeys(item, own)] : [key, camelKeys(item, schemaAt(schema, 'additionalProperties'))];
    }),
  );
}

function schemaAt(schema: JsonSchema, keyword: string): JsonSchema {
  const inner = schema[keyword];
  return typeof inner === 'object' && inner !== null ? (inner as JsonSchema) : {};
}

function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
