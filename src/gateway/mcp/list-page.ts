import type { Json } from '../../core/json.ts';
import { cursorOf, cursorParts, PER_PAGE } from './cursor.ts';

/** Where the page ended, and the key of its last item. */
const FORM = /^after:(\d{1,9}):(.+)$/s;

interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * One page of a list in a fixed order. The cursor holds the key of the last item: what comes and goes between two pages makes
 * a client miss none of the others. VALIDATION_ERROR for a cursor that is none of ours.
 */
export function listPage<Item>(items: readonly Item[], keyOf: (item: Item) => string, cursor: Json | undefined): Page<Item> {
  const start = cursor === undefined ? 0 : startAfter(items.map(keyOf), keyIn(cursor));
  const page = items.slice(start, start + PER_PAGE);
  const last = page.at(-1);
  if (last === undefined || start + PER_PAGE >= items.length) return { items: page };
  return { items: page, nextCursor: cursorOf(`after:${start + PER_PAGE}:${keyOf(last)}`) };
}

/** After the item of the key; where that is gone, at its place. */
function startAfter(keys: readonly string[], { key, place }: { readonly key: string; readonly place: number }): number {
  const at = keys.indexOf(key);
  return at === -1 ? Math.min(Math.max(0, place - 1), keys.length) : at + 1;
}

function keyIn(cursor: Json): { readonly key: string; readonly place: number } {
  const [place, key = ''] = cursorParts(cursor, FORM);
  return { key, place: Number(place) };
}
