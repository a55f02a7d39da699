import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts';

/** Longest JSON text of parameters that people who approve are shown as they are. */
const MAX_SHOWN_LENGTH = 65_536;
const MAX_TEXT_LENGTH = 1_024;
const HEAD_LENGTH = 256;

/**
 * Parameters as an approval keeps and shows them: files among them by their beginnings, and only their length where even that is
 * too much. What is approved is the call by its hash.
 */
export function shownParams(params: JsonObject): JsonObject {
  const { length } = JSON.stringify(params);
  if (length <= MAX_SHOWN_LENGTH) return params;
  const short = shortened(params);
  return isJsonObject(short) && JSON.stringify(short).length <= MAX_SHOWN_LENGTH ? short : { params_length: length };
}

function shortened(value: Json): Json {
  if (typeof value === 'string') return value.length <= MAX_TEXT_LENGTH ? value : beginningOf(value);
  if (Array.isArray(value)) return value.map(shortened);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, shortened(item)]));
}

function beginningOf(text: string): string {
  return `${text.slice(0, HEAD_LENGTH).toWellFormed()}… (${text.length} characters)`;
}
