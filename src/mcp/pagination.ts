import { AtmoError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';

/** Number of items per page. */
const PER_PAGE = 100;
const MAX_CHARS = 4_096;

/** Returns the opaque cursor of a page (MCP, pagination). */
function cursorOf(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Decodes a cursor and returns the groups that `form` matches. Throws VALIDATION_ERROR if the cursor is invalid. */
function cursorParts(cursor: Json, form: RegExp): readonly string[] {
  const text = typeof cursor === 'string' && cursor.length <= MAX_CHARS ? Buffer.from(cursor, 'base64url').toString() : '';
  const match = form.exec(text);
  if (match) return match.slice(1);
  throw new AtmoError('VALIDATION_ERROR', 'The cursor is not one that this list gave; begin without a cursor');
}

/** Matches a cursor: the position after the last item of a page, and the key of this item. */
const AFTER_ITEM = /^after:(\d{1,9}):(.+)$/s;

interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * Returns one page of a list whose order is fixed. The cursor contains the last item's key, so a client misses no item if other items are
 * added or removed between two pages. Throws VALIDATION_ERROR if the cursor is invalid.
 */
export function listPage<Item>(items: readonly Item[], keyOf: (item: Item) => string, cursor: Json | undefined): ListPage<Item> {
  const start = cursor === undefined ? 0 : startAfter(items.map(keyOf), keyIn(cursor));
  const page = items.slice(start, start + PER_PAGE);
  const last = page.at(-1);
  if (last === undefined || start + PER_PAGE >= items.length) return { items: page };
  return { items: page, nextCursor: cursorOf(`after:${start + PER_PAGE}:${keyOf(last)}`) };
}

/** Returns the position after the item with this key. If the item is gone, returns the position that it had. */
function startAfter(keys: readonly string[], { key, place }: { readonly key: string; readonly place: number }): number {
  const at = keys.indexOf(key);
  return at === -1 ? Math.min(Math.max(0, place - 1), keys.length) : at + 1;
}

function keyIn(cursor: Json): { readonly key: string; readonly place: number } {
  const [place, key = ''] = cursorParts(cursor, AFTER_ITEM);
  return { key, place: Number(place) };
}

const TOOL_ID = /^([^\s:]+:[^\s]+@\S+)$/;

interface ToolListPage {
  readonly tools: readonly RegisteredTool[];
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * Returns one page of the tools that pass the filter. `tools` must be sorted by id. The cursor contains the last id, so a client misses no
 * tool if other tools are added or removed between two pages. Throws VALIDATION_ERROR if the cursor is invalid.
 */
export function toolListPage(
  tools: readonly RegisteredTool[],
  passes: (tool: RegisteredTool) => boolean,
  cursor: Json | undefined,
): ToolListPage {
  const page: RegisteredTool[] = [];
  for (let index = startOf(tools, cursor); index < tools.length; index++) {
    const tool = tools[index];
    if (!tool || !passes(tool)) continue;
    const last = page.at(-1);
    if (last && page.length === PER_PAGE) return { tools: page, nextCursor: cursorOf(last.id) };
    page.push(tool);
  }
  return { tools: page };
}

/** Returns the index of the first tool after the cursor's id, by binary search. */
function startOf(tools: readonly RegisteredTool[], cursor: Json | undefined): number {
  if (cursor === undefined) return 0;
  const [after = ''] = cursorParts(cursor, TOOL_ID);
  let low = 0;
  let high = tools.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((tools[middle]?.id ?? '') <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
