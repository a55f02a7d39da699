import { isJsonObject, type Json, type JsonSchema } from '../core/json.ts';

/** A text of a value that stands for bytes. */
export interface Base64Field {
  /** Names and indexes from the root of the value. */
  readonly path: readonly (string | number)[];
  readonly text: string;
}

const BRANCHES = ['allOf', 'anyOf', 'oneOf'];
const mentionsBase64Cache = new WeakMap<object, boolean>();

/** True where `contentEncoding: base64` stands anywhere in the schema. */
export function mentionsBase64(schema: JsonSchema): boolean {
  const known = mentionsBase64Cache.get(schema);
  if (known !== undefined) return known;
  const says = JSON.stringify(schema).includes('"contentEncoding":"base64"');
  mentionsBase64Cache.set(schema, says);
  return says;
}

/** True where a value of this schema may be bytes: the schema itself or one of its branches says `contentEncoding: base64`. */
export function isBase64Schema(schema: unknown): boolean {
  return readingsOf(schema).some(holdsBytes);
}

/**
 * The texts of which the schema says that they are base64, members in the order of RFC 8785. Text that its bytes would not give back
 * as it is, is text. What a schema names behind `$ref`, `if` or `patternProperties` is not found.
 */
export function base64Fields(schema: JsonSchema, value: Json): readonly Base64Field[] {
  const places: Base64Field[] = [];
  mapBase64(schema, value, (place) => {
    places.push(place);
    return place.text;
  });
  return places;
}

/** The value with something else in these places, members sorted; the value itself where the schema says nothing of base64. */
export function mapBase64(schema: JsonSchema, value: Json, map: (place: Base64Field) => string): Json {
  return mentionsBase64(schema) ? mapped({ readings: readingsOf(schema), path: [], map }, value) : value;
}

/** A schema with all that it is made of: what any branch says may hold. */
function readingsOf(schema: unknown): readonly JsonSchema[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  const own = schema as JsonSchema;
  const branches = BRANCHES.flatMap((keyword) => (Array.isArray(own[keyword]) ? (own[keyword] as readonly unknown[]) : []));
  return [own, ...branches.flatMap(readingsOf)];
}

interface Visit {
  readonly readings: readonly JsonSchema[];
  readonly path: Base64Field['path'];
  readonly map: (place: Base64Field) => string;
}

function mapped(visit: Visit, value: Json): Json {
  const { readings, path, map } = visit;
  if (readings.length === 0) return value;
  if (typeof value === 'string') {
    const isBytes = value !== '' && readings.some(holdsBytes) && isCanonicalBase64(value);
    return isBytes ? map({ path, text: value }) : value;
  }
  if (Array.isArray(value)) return value.map((item: Json, index) => mapped(within(visit, index), item));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([key, item]): [string, Json] => [key, mapped(within(visit, key), item)]));
}

function within({ readings, path, map }: Visit, key: string | number): Visit {
  return { readings: readings.flatMap((reading) => readingsOf(partSchema(reading, key))), path: [...path, key], map };
}

function holdsBytes({ contentEncoding }: JsonSchema): boolean {
  return contentEncoding === 'base64';
}

function partSchema({ properties, items, prefixItems, additionalProperties }: JsonSchema, key: string | number): unknown {
  if (typeof key === 'number') return Array.isArray(prefixItems) && key < prefixItems.length ? prefixItems[key] : items;
  const named = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, key);
  return named ? Reflect.get(properties, key) : additionalProperties;
}

/** One character that does not belong is looked for: a pattern of the whole text takes memory by its length, and fails above some megabytes. */
const FOREIGN = /[^A-Za-z0-9+/]/;

/** Base64 with padding (RFC 4648 §4), however long it is. */
export function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return text.length % 4 === 0 && !FOREIGN.test(padding === 0 ? text : text.slice(0, -padding));
}

/** Base64 that its bytes give back as it is: padded, and no bit is set that belongs to no byte (RFC 4648 §3.5). */
export function isCanonicalBase64(text: string): boolean {
  const end = text.slice(-4);
  return isBase64(text) && Buffer.from(end, 'base64').toString('base64') === end;
}
