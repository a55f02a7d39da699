import { isCanonicalBase64 } from '../core/base64.ts';
import { isJsonObject, type Json, type JsonSchema } from '../core/json.ts';

/** A text of a value that stands for bytes. */
export interface Base64Place {
  /** Names and indexes from the root of the value. */
  readonly path: readonly (string | number)[];
  readonly text: string;
}

const BRANCHES = ['allOf', 'anyOf', 'oneOf'];
const knownToSay = new WeakMap<object, boolean>();

/** True where `contentEncoding: base64` stands anywhere in the schema. */
export function saysBase64(schema: JsonSchema): boolean {
  const known = knownToSay.get(schema);
  if (known !== undefined) return known;
  const says = JSON.stringify(schema).includes('"contentEncoding":"base64"');
  knownToSay.set(schema, says);
  return says;
}

/** True where a value of this schema may be bytes: the schema itself or one of its branches says `contentEncoding: base64`. */
export function isBase64Schema(schema: unknown): boolean {
  return readingsOf(schema).some(({ contentEncoding }) => contentEncoding === 'base64');
}

/**
 * The texts of which the schema says that they are base64, members in the order of RFC 8785. Text that its bytes would not give back
 * as it is, is text. What a schema names behind `$ref`, `if` or `patternProperties` is not found.
 */
export function base64Places(schema: JsonSchema, value: Json): readonly Base64Place[] {
  return saysBase64(schema) ? [...placesIn(readingsOf(schema), value, [])] : [];
}

/** A schema with all that it is made of: what any branch says may hold. */
function readingsOf(schema: unknown): readonly JsonSchema[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  const own = schema as JsonSchema;
  const branches = BRANCHES.flatMap((keyword) => (Array.isArray(own[keyword]) ? (own[keyword] as readonly unknown[]) : []));
  return [own, ...branches.flatMap(readingsOf)];
}

function* placesIn(readings: readonly JsonSchema[], value: Json, path: Base64Place['path']): Iterable<Base64Place> {
  if (readings.length === 0) return;
  if (typeof value === 'string') {
    const isBinary = value !== '' && readings.some(({ contentEncoding }) => contentEncoding === 'base64');
    if (isBinary && isCanonicalBase64(value)) yield { path, text: value };
    return;
  }
  for (const [key, item] of partsOf(value)) {
    yield* placesIn(
      readings.flatMap((reading) => readingsOf(partSchema(reading, key))),
      item,
      [...path, key],
    );
  }
}

function partsOf(value: Json): readonly (readonly [string | number, Json])[] {
  if (Array.isArray(value)) return value.map((item: Json, index) => [index, item]);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

function partSchema({ properties, items, prefixItems, additionalProperties }: JsonSchema, key: string | number): unknown {
  if (typeof key === 'number') return Array.isArray(prefixItems) && key < prefixItems.length ? prefixItems[key] : items;
  const named = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, key);
  return named ? Reflect.get(properties, key) : additionalProperties;
}
