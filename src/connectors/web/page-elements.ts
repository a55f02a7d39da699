import { runInNewContext } from 'node:vm';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { parsePage } from './read-page.ts';

/** What to find, by CSS selectors, and how much of it at most. */
export interface ElementQuery {
  readonly selectors: readonly string[];
  readonly maxItems: number;
  readonly signal: AbortSignal;
}

type DomHandler = InstanceType<typeof import('htmlparser2').DomHandler>;
type PageNode = DomHandler['dom'][number];
type Select = (selector: string, nodes: PageNode[]) => PageNode[];

/** Selectors and pages come from outside; together they can be made to take for ever. */
const SELECT_MS = 500;
const MAX_TEXT = 2_000;
const MAX_ATTRIBUTE = 1_000;
const NO_WORDS = new Set(['script', 'style', 'noscript', 'template']);

/**
 * The elements of a page that the selectors find, in their order, each with tag, text (white space folded, 2,000 characters) and
 * attributes. Errors: VALIDATION_ERROR (a selector), RESOURCE_EXCEEDED (more than half a second of work), SERVICE_REFUSED (a page
 * that cannot be meant).
 */
export async function pageElements(html: string, { selectors, maxItems, signal }: ElementQuery): Promise<readonly JsonObject[]> {
  const [{ DomHandler }, { selectAll }] = await Promise.all([import('htmlparser2'), import('css-select')]);
  const handler = new DomHandler();
  await parsePage(html, handler, { signal });
  handler.onend();
  const found = (selector: string) => foundBy(selector, handler.dom, selectAll as Select);
  return withinTime(() => selectors.flatMap(found).slice(0, maxItems).map(itemOf));
}

function foundBy(selector: string, nodes: PageNode[], select: Select) {
  try {
    return select(selector, nodes).map((node) => ({ selector, node }));
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'not understood';
    throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(selector)} is no CSS selector (${reason})`);
  }
}

/** What runs without a pause can be ended from outside of JavaScript alone. */
function withinTime<T>(work: () => T): T {
  try {
    return runInNewContext('work()', { work }, { timeout: SELECT_MS }) as T;
  } catch (error) {
    if (error instanceof AtmoError) throw error;
    throw new AtmoError('RESOURCE_EXCEEDED', `These selectors take more than ${SELECT_MS} ms on this page; use simpler ones`, {
      permanent: true,
    });
  }
}

function itemOf({ selector, node }: { readonly selector: string; readonly node: PageNode }): JsonObject {
  const { name = '', attribs = {} } = node as { readonly name?: string; readonly attribs?: Readonly<Record<string, string>> };
  const attributes = Object.fromEntries(Object.entries(attribs).map(([key, value]) => [key, value.slice(0, MAX_ATTRIBUTE)]));
  return { selector, tag: name, text: textOf(node), attributes };
}

function textOf(root: PageNode): string {
  const open: PageNode[] = [root];
  let text = '';
  for (let node = open.pop(); node && text.length < MAX_TEXT; node = open.pop()) {
    if (node.type === 'text') text += node.data.replaceAll(/\s+/g, ' ');
    else if ('children' in node && !NO_WORDS.has('name' in node ? node.name : '')) open.push(...node.children.toReversed());
  }
  return text.replaceAll(/ +/g, ' ').trim().slice(0, MAX_TEXT).toWellFormed();
}
