/** Any JSON value (RFC 8259). */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. No key has the value `undefined`. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A JSON Schema (draft 2020-12) in its object form. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Returns whether a value is a JSON object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is a JSON object, else an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the JSON objects in a list; an empty list for any other value. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the items of a list as texts; an empty list for any other value. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

type Present<Members> = { readonly [Name in keyof Members as undefined extends Members[Name] ? never : Name]: Members[Name] } & {
  readonly [Name in keyof Members as undefined extends Members[Name] ? Name : never]?: Exclude<Members[Name], undefined>;
};

/** Returns the object without members whose value is undefined, since JSON has no such value. */
export function present<Members extends object>(members: Members): Present<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<Members>;
}

/** Parses a JSON text (RFC 8259); returns undefined for any other text. */
export function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Returns the keys of a JSON Pointer in order, without escapes (RFC 6901 §4). */
export function pointerKeys(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns a key as a segment of a JSON Pointer, escaped by RFC 6901 §3. */
export function pointerSegment(key: string): string {
  return /[~/]/.test(key) ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key;
}

/** Returns the JSON Pointer to what a path of keys leads to. */
export function pointerTo(path: readonly (string | number)[]): string {
  return path.map((key) => `/${pointerSegment(String(key))}`).join('');
}

/** Returns the value at a JSON Pointer (RFC 6901) or at a list of keys; undefined if there is none. */
export function valueAt(root: Json, pointer: string | readonly string[]): Json | undefined {
  return (typeof pointer === 'string' ? pointerKeys(pointer) : pointer).reduce<Json | undefined>(memberOf, root);
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(key) ? value[Number(key)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
