import { isJsonObject, type Json } from '../../core/json.ts';
import { copyJson, RESULT_LIMITS } from './plain-json.ts';

/** A value of our own ports in the form of the wire: member names in snake_case (`nodeId` becomes `node_id`). */
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
