import { type JsonSchema, pointerKeys } from '../../core/json.ts';

const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Schemas of values that are taken beside those that a schema shows: how callers of older versions write them. */
export const ALSO_ACCEPTED = 'x-also';
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', ALSO_ACCEPTED]);
const SINGLES = new Set([
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
]);

/** A function over one schema object, given its JSON pointer within the root. */
export type SchemaStep = (schema: JsonSchema, pointer: string) => JsonSchema;

/** True for a schema in its object form (`true` and `false` are schemas too, and have nothing to walk). */
export function isSchemaObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Rebuilds a schema with `step` applied to every subschema, parents first; data under `enum`, `default` … is left alone. */
export function mapSchema(schema: JsonSchema, step: SchemaStep, pointer = ''): JsonSchema {
  const stepped = step(schema, pointer);
  const entries = Object.entries(stepped).map(([keyword, value]): [string, unknown] => [
    keyword,
    mapKeyword(keyword, value, (child, path) => mapSchema(child, step, `${pointer}/${keyword}${path}`)),
  ]);
  return Object.fromEntries(entries);
}

/** Calls `visit` with every subschema and its JSON pointer. */
export function visitSchema(schema: JsonSchema, visit: (schema: JsonSchema, pointer: string) => void): void {
  mapSchema(schema, (child, pointer) => {
    visit(child, pointer);
    return child;
  });
}

/** One segment of a JSON pointer, escaped (RFC 6901 §3). */
export function pointerSegment(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The value that a JSON pointer names, undefined where there is none. */
export function atPointer(root: unknown, pointer: string): unknown {
  let value = root;
  for (const key of pointerKeys(pointer)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function mapKeyword(keyword: string, value: unknown, map: (child: JsonSchema, path: string) => JsonSchema): unknown {
  const mapIfSchema = (child: unknown, path: string) => (isSchemaObject(child) ? map(child, path) : child);
  if (SINGLES.has(keyword)) return mapIfSchema(value, '');
  if (LISTS.has(keyword) && Array.isArray(value)) return value.map((child, index) => mapIfSchema(child, `/${index}`));
  if (!MAPS.has(keyword) || !isSchemaObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, mapIfSchema(child, `/${pointerSegment(key)}`)]));
}
