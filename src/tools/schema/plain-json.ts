import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/** Limits on the size and depth of JSON values. */
export interface JsonLimits {
  /** Maximum length of the JSON text in UTF-16 code units. The length is estimated: escapes do not count, and each number counts as 8. */
  readonly maxSize: number;
  readonly maxDepth: number;
}

/** Default limits on values from outside. */
export const DEFAULT_JSON_LIMITS: JsonLimits = { maxSize: 1_000_000, maxDepth: 32 };

/** Limits on the parameters of a tool call. The limits are high enough for a file. In addition, each tool has its own limit in bytes. */
export const LARGE_PARAMS_LIMITS: JsonLimits = { maxSize: 16_777_216, maxDepth: 32 };

/** Limits on values that the hub produces, such as results and responses. */
export const RESULT_LIMITS: JsonLimits = { maxSize: 8_000_000, maxDepth: 64 };

interface Walk {
  readonly limits: JsonLimits;
  size: number;
}

/**
 * Returns a deep copy of a JSON value without members that are `undefined`. Throws VALIDATION_ERROR for a value that JSON cannot express
 * (NaN, function, class instance, cycle), and PAYLOAD_TOO_LARGE above the limits.
 */
export function copyJson(value: unknown, limits: JsonLimits = DEFAULT_JSON_LIMITS): Json {
  return measuredCopy(value, limits).copy;
}

/** Returns a deep copy like `copyJson`, and the estimated length of its JSON text. */
export function measuredCopy(value: unknown, limits: JsonLimits): { readonly copy: Json; readonly size: number } {
  const walk = { limits, size: 0 };
  return { copy: copyValue(value, walk, 0), size: walk.size };
}

/** Returns a deep copy like `copyJson`. Also throws VALIDATION_ERROR if the value is not an object. */
export function copyJsonObject(value: unknown, limits: JsonLimits = DEFAULT_JSON_LIMITS): JsonObject {
  const copy = copyJson(value, limits);
  if (!isJsonObject(copy)) throw new AtmoError('VALIDATION_ERROR', `The parameters have to be a JSON object, not ${describeType(copy)}`);
  return copy;
}

/** Returns the name of a value's type, for people. */
export function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'a text';
  return `a ${typeof value}`;
}

function copyValue(value: unknown, walk: Walk, depth: number): Json {
  if (depth > walk.limits.maxDepth) {
    throw new AtmoError('PAYLOAD_TOO_LARGE', `The value is nested deeper than ${walk.limits.maxDepth} levels`);
  }
  if (typeof value === 'string') return charge(walk, value.length + 2, value);
  if (value === null || typeof value === 'boolean') return charge(walk, 5, value);
  if (typeof value === 'number' && Number.isFinite(value)) return charge(walk, 8, value);
  if (Array.isArray(value)) return charge(walk, 2, value).map((item) => copyValue(item, walk, depth + 1));
  if (isPlainObject(value)) return copyMembers(value, walk, depth);
  throw new AtmoError(
    'VALIDATION_ERROR',
    `JSON cannot carry ${typeof value === 'object' ? 'a class instance' : `the ${typeof value}`} in it`,
  );
}

function copyMembers(value: object, walk: Walk, depth: number): JsonObject {
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Readonly<Record<string, unknown>>)[key];
    if (item === undefined) continue;
    charge(walk, key.length + 4, key);
    const member = copyValue(item, walk, depth + 1);
    // An assignment to this key would replace the prototype of the copy.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: member, configurable: true, enumerable: true, writable: true });
    else copy[key] = member;
  }
  return copy;
}

function charge<T>(walk: Walk, size: number, value: T): T {
  walk.size += size;
  if (walk.size > walk.limits.maxSize) {
    throw new AtmoError('PAYLOAD_TOO_LARGE', `The value is larger than ${walk.limits.maxSize} characters of JSON`);
  }
  return value;
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Returns an internal value as JSON for clients, with member names in snake_case (`nodeId` becomes `node_id`). */
export function snakeJson(value: unknown): Json {
  return renameMembers(copyJson(value, RESULT_LIMITS));
}

function renameMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(renameMembers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [snakeCase(key), renameMembers(item)]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
