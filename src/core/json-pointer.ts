import { isJsonObject, type Json } from './json.ts';

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
