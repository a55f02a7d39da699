import type { Json, JsonObject } from '../../core/json.ts';

/**
 * Whether a document's metadata fits a filter: each member of the filter is equal to the document's, or, where it is a list, one of
 * its values is; a member of the document that is a list fits when it holds the value.
 */
export function fitsFilter(metadata: JsonObject, filter: JsonObject): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    if (value === undefined) return false;
    const values = listOf(value).map(textOf);
    return listOf(wanted).some((one) => values.includes(textOf(one)));
  });
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value];
}

/** Objects are the same with their members in another order. */
function textOf(value: Json): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
