import type { Json } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import { cursorOf, cursorParts, PER_PAGE } from '../cursor.ts';

/** The id of a tool. */
const FORM = /^([^\s:]+:[^\s]+@\S+)$/;

interface Page {
  readonly tools: readonly RegisteredTool[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * One page of those tools that pass, in the order of their ids. The cursor holds the last id, so that tools which come and
 * go between two pages make a client miss none of the others. VALIDATION_ERROR for a cursor that is none of ours.
 */
export function pageOf(tools: readonly RegisteredTool[], passes: (tool: RegisteredTool) => boolean, cursor: Json | undefined): Page {
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

/** The first tool after the cursor's, by halving: the list is in the order of ids. */
function startOf(tools: readonly RegisteredTool[], cursor: Json | undefined): number {
  if (cursor === undefined) return 0;
  const [after = ''] = cursorParts(cursor, FORM);
  let low = 0;
  let high = tools.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((tools[middle]?.id ?? '') <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
