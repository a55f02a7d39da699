import { AtmoError } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import type { MeshPorts } from '../../../tools/elsewhere/mesh-outlook.ts';
import type { ToolRegistry } from '../../../tools/tool-registry.ts';
import type { McpFeature, McpListener, McpNotices } from '../mcp-feature.ts';
import type { HomeTool } from './home-tool.ts';
import { type MeasurementParts, measurementTools } from './measurement-tools.ts';
import { overviewTool } from './overview-tool.ts';
import { type ProxyParts, proxyTools } from './proxy-tools.ts';
import { type SearchParts, searchTools } from './search-tools.ts';
import { ToolChanges } from './tool-changes.ts';
import { isDirect, ToolHomeView } from './tool-home-view.ts';
import { isIn, ToolListView } from './tool-list-view.ts';

/** What tools are listed and called with. */
export interface ToolFeatureParts extends ProxyParts, SearchParts, MeasurementParts {
  readonly registry: ToolRegistry;
  /** Tools of other hubs. */
  readonly outlook: Pick<MeshPorts, 'tools'>;
}

/** `tools/list` and `tools/call` of every view; tells of changes until it is closed. */
export function toolFeature(parts: ToolFeatureParts, notices: McpNotices): McpFeature {
  const paced = (tool: HomeTool): HomeTool => ({
    ...tool,
    answer: async (params, caller) => {
      parts.reads.take(caller.principal);
      return tool.answer(params, caller);
    },
  });
  const reading = (tools: readonly HomeTool[]) => tools.map(paced);
  const own = [...reading([overviewTool(parts), ...searchTools(parts)]), ...proxyTools(parts), ...reading(measurementTools(parts))];
  const home = new ToolHomeView(parts, own);
  const lists = new ToolListView(parts);
  const changes = new ToolChanges({
    registry: parts.registry,
    clock: parts.clock,
    remote: parts.outlook.tools,
    notices,
    isListed: (tool, view) => (view.kind === 'home' ? isDirect(tool) : isIn(tool, view)),
    visibleTo: (principal) => parts.catalogue.visibleTo(principal),
  });
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
    mirroredSchema: (name, listener) => (isHome(listener) ? undefined : lists.mirrored(name, listener)),
    close: () => changes[Symbol.dispose](),
  };
}

function isHome({ view }: McpListener): boolean {
  return view.kind === 'home';
}

function wishOf({ name, arguments: args = {} }: JsonObject): { readonly name: string; readonly args: JsonObject } {
  if (typeof name === 'string' && isJsonObject(args)) return { name, args };
  throw new AtmoError('VALIDATION_ERROR', 'tools/call needs {"name": "…", "arguments": {…}}');
}
