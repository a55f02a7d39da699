import { isJsonObject, type Json, type JsonSchema } from '../core/json.ts';
import { oncePerObject } from '../core/lifecycle.ts';

/** String in a JSON value that encodes bytes as base64. */
export interface Base64Field {
  /** Path from the root of the value to the string: property names and array indexes. */
  readonly path: readonly (string | number)[];
  readonly text: string;
}

const BRANCHES = ['allOf', 'anyOf', 'oneOf'];

/** Returns whether `contentEncoding: base64` occurs anywhere in the schema. */
export const mentionsBase64 = oncePerObject((schema: JsonSchema) => JSON.stringify(schema).includes('"contentEncoding":"base64"'));

/** Returns whether a value with this schema can be bytes: the schema or one of its alternatives has `contentEncoding: base64`. */
export function isBase64Schema(schema: unknown): boolean {
  return alternativesOf(schema).some(holdsBytes);
}

/**
 * Returns the strings that the schema declares as base64. Visits objects in the key order of RFC 8785. Omits empty strings and strings that
 * are not canonical base64. Does not follow schemas behind `$ref`, `if` or `patternProperties`.
 */
export function base64Fields(schema: JsonSchema, value: Json): readonly Base64Field[] {
  const fields: Base64Field[] = [];
  mapBase64(schema, value, (field) => {
    fields.push(field);
    return field.text;
  });
  return fields;
}

/** Returns a copy with sorted keys, in which `map` has replaced each base64 string. If the schema has no base64, returns `value` itself. */
export function mapBase64(schema: JsonSchema, value: Json, map: (field: Base64Field) => string): Json {
  return mentionsBase64(schema) ? mapped({ alternatives: alternativesOf(schema), path: [], map }, value) : value;
}

/** Returns a schema and all its alternatives. Any of them may describe the value. */
function alternativesOf(schema: unknown): readonly JsonSchema[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  const own = schema as JsonSchema;
  const branches = BRANCHES.flatMap((keyword) => (Array.isArray(own[keyword]) ? (own[keyword] as readonly unknown[]) : []));
  return [own, ...branches.flatMap(alternativesOf)];
}

interface Visit {
  readonly alternatives: readonly JsonSchema[];
  readonly path: Base64Field['path'];
  readonly map: (field: Base64Field) => string;
}

function mapped(visit: Visit, value: Json): Json {
  const { alternatives, path, map } = visit;
  if (alternatives.length === 0) return value;
  if (typeof value === 'string') {
    const isBytes = value !== '' && alternatives.some(holdsBytes) && isCanonicalBase64(value);
    return isBytes ? map({ path, text: value }) : value;
  }
  if (Array.isArray(value)) return value.map((item: Json, index) => mapped(within(visit, index), item));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([key, item]): [string, Json] => [key, mapped(within(visit, key), item)]));
}

function within({ alternatives, path, map }: Visit, key: string | number): Visit {
  return { alternatives: alternatives.flatMap((schema) => alternativesOf(partSchema(schema, key))), path: [...path, key], map };
}

function holdsBytes({ contentEncoding }: JsonSchema): boolean {
  return contentEncoding === 'base64';
}

function partSchema({ properties, items, prefixItems, additionalProperties }: JsonSchema, key: string | number): unknown {
  if (typeof key === 'number') return Array.isArray(prefixItems) && key < prefixItems.length ? prefixItems[key] : items;
  const named = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, key);
  return named ? Reflect.get(properties, key) : additionalProperties;
}

/** Matches one character that base64 does not use. A pattern for the whole text would need much memory and fail on several megabytes. */
const FOREIGN = /[^A-Za-z0-9+/]/;

/** Returns whether a text of any length is base64 with padding (RFC 4648 §4). */
export function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return text.length % 4 === 0 && !FOREIGN.test(padding === 0 ? text : text.slice(0, -padding));
}

/** Returns whether a text is canonical base64: it has padding, and its unused bits are zero (RFC 4648 §3.5). */
export function isCanonicalBase64(text: string): boolean {
  const end = text.slice(-4);
  return isBase64(text) && Buffer.from(end, 'base64').toString('base64') === end;
}
