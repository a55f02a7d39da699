import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { McpCaller, McpFeature } from './mcp-feature.ts';
import { type OverviewParts, overviewTools } from './overview-tools.ts';
import { type ProxyParts, proxyTools } from './proxy-tools.ts';
import { type SearchParts, searchTools } from './search-tools.ts';
import { ToolHomeView } from './tool-home-view.ts';
import { ToolListView } from './tool-list-view.ts';

/** What tools are listed and called with. */
export type ToolFeatureParts = ProxyParts & SearchParts & OverviewParts;

/** `tools/list` and `tools/call` of every view. */
export function toolFeature(parts: ToolFeatureParts): McpFeature {
  const [overview, ...sensors] = overviewTools(parts);
  const own = [...(overview ? [overview] : []), ...searchTools(parts), ...proxyTools(parts), ...sensors];
  const home = new ToolHomeView(parts, own);
  const lists = new ToolListView(parts);
  return {
    capabilities: { tools: { listChanged: true } },
    methods: {
      'tools/list': async ({ cursor }, caller) => {
        if (caller.view.kind !== 'home') return lists.list(cursor, caller);
        if (cursor === undefined) return home.list(caller);
        throw new AtmoError('VALIDATION_ERROR', 'This list has one page only; leave the cursor out');
      },
      'tools/call': (params, caller) => {
        const { name, args } = wishOf(params);
        return (isHome(caller) ? home : lists).call(name, args, caller);
      },
    },
  };
}

function isHome({ view }: McpCaller): boolean {
  return view.kind === 'home';
}

function wishOf({ name, arguments: args = {} }: JsonObject): { readonly name: string; readonly args: JsonObject } {
  if (typeof name === 'string' && isJsonObject(args)) return { name, args };
  throw new AtmoError('VALIDATION_ERROR', 'tools/call needs {"name": "…", "arguments": {…}}');
}
