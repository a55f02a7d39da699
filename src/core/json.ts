/** Any value that JSON (RFC 8259) can carry. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. Absent members are absent, never `undefined`. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A JSON Schema (draft 2020-12) in its object form. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** True for a plain JSON object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; undefined for what is none. */
export function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The keys that a JSON Pointer leads through (RFC 6901 §4). */
export function pointerKeys(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a JSON Pointer; undefined where there is none. */
export function valueAt(root: Json, pointer: string): Json | undefined {
  return pointerKeys(pointer).reduce<Json | undefined>(memberOf, root);
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^\d+$/.test(key) ? value[Number(key)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
