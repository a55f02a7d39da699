import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { usage } from './command.ts';

/** Parameters from `key=value` words, typed by the tool's schema. What does not fit stays text: the hub says what is wrong. */
export function typedParams(words: readonly string[], schema: JsonObject): JsonObject {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const params: Record<string, Json> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw usage(`${JSON.stringify(word)} is not of the form key=value; quote values with spaces, or use --params JSON`);
    const name = word.slice(0, at);
    if (Object.hasOwn(params, name)) throw usage(`${name} is given twice`);
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    params[name] = typedValue(word.slice(at + 1), isJsonObject(property) ? property : {});
  }
  return params;
}

const SWITCHES: Readonly<Record<string, boolean>> = { true: true, false: false, on: true, off: false, yes: true, no: false };

/** One value by its schema: numbers, booleans (also on/off, yes/no), JSON for arrays and objects, comma lists of texts. */
export function typedValue(text: string, schema: JsonObject): Json {
  const types = typesOf(schema);
  const isAnything = types.size === 0;
  if (enumOf(schema).includes(text)) return text;
  if ((isAnything || types.has('number') || types.has('integer')) && isNumber(text)) return Number(text);
  if (types.has('boolean') && Object.hasOwn(SWITCHES, text)) return SWITCHES[text] ?? text;
  if (types.has('array') && !types.has('string') && !text.startsWith('[')) return listValue(text, schema);
  if (isAnything || types.has('array') || types.has('object') || types.has('null')) return jsonOr(text);
  return text;
}

function typesOf(schema: JsonObject): ReadonlySet<string> {
  const own = Array.isArray(schema.type) ? schema.type : [schema.type];
  const branches = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : [])).filter(isJsonObject);
  const values = enumOf(schema).map((value) => typeof value);
  return new Set([...own, ...branches.flatMap((branch) => [...typesOf(branch)]), ...values].filter((type) => typeof type === 'string'));
}

function enumOf(schema: JsonObject): readonly Json[] {
  return Array.isArray(schema.enum) ? schema.enum : [];
}

function isNumber(text: string): boolean {
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}

function listValue(text: string, schema: JsonObject): Json {
  const items = isJsonObject(schema.items) ? schema.items : {};
  return text === '' ? [] : text.split(',').map((item) => typedValue(item, items));
}

function jsonOr(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
