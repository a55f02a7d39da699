import { isJsonObject, type JsonObject } from '../../core/json.ts';

/** The objects in a member of an answer; empty when the hub sent something else. */
export function objectsIn(answer: JsonObject, member: string): readonly JsonObject[] {
  const list = answer[member];
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
