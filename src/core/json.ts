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
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
