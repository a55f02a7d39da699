import type { Principal } from '../../../core/access/principal.ts';
import { areaKey } from '../../../core/devices/device-facts.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import { toolKey } from '../../../tools/definition/tool-name.ts';
import type { KnownTools } from '../../../tools/elsewhere/known-tools.ts';
import type { ToolCatalogue } from '../../tools/tool-catalogue.ts';
import type { ToolRunner } from '../calls/tool-run.ts';
import type { McpCaller } from '../mcp-feature.ts';
import type { McpView } from '../mcp-view.ts';
import { toolForm } from './tool-form.ts';
import { pageOf } from './tool-page.ts';

/** What the views of single tools are made from. */
export interface ListViewParts {
  readonly catalogue: ToolCatalogue;
  readonly tools: Pick<KnownTools, 'all'>;
  readonly run: ToolRunner;
}

/** `/mcp/devices` and `/mcp/areas/{area}`: every tool that is ready to be called by itself, with its types. */
export class ToolListView {
  readonly #parts: ListViewParts;

  constructor(parts: ListViewParts) {
    this.#parts = parts;
  }

  /** VALIDATION_ERROR for a cursor that is none of ours. */
  list(cursor: Json | undefined, { principal, view }: McpCaller): JsonObject {
    const { catalogue, tools } = this.#parts;
    const page = pageOf(tools.all(), this.#listedIn(view, principal), cursor);
    return {
      tools: page.tools.map((tool) => toolForm(tool, catalogue.modelName(tool))),
      ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }),
    };
  }

  /** TOOL_NOT_FOUND for what the view does not list, with the names that are near. */
  async call(name: string, params: JsonObject, caller: McpCaller): Promise<JsonObject> {
    const tool = this.#find(name, caller);
    const listing = tool.definition.returns.type === 'object' ? 'typed' : 'open';
    return this.#parts.run({ tool, params, listing }, caller);
  }

  #find(name: string, { principal, view }: McpCaller): RegisteredTool {
    const tool = this.#parts.catalogue.resolve(principal, name);
    if (isIn(tool, view)) return tool;
    const shown = JSON.stringify(name.slice(0, 160));
    throw new AtmoError('TOOL_NOT_FOUND', `${shown} is not listed here; list the tools, or call it at /mcp by control_tool or read_tool`);
  }

  #listedIn(view: McpView, principal: Principal): (tool: RegisteredTool) => boolean {
    const { catalogue, tools } = this.#parts;
    const isVisible = catalogue.visibleTo(principal);
    const several = keysOfSeveral(tools.all());
    const isMeant = (tool: RegisteredTool) => !several.has(toolKey(tool)) || catalogue.resolve(principal, toolKey(tool)).id === tool.id;
    return (tool) => isIn(tool, view) && catalogue.isReady(tool) && isVisible(tool) && isMeant(tool);
  }
}

/** The hub's own administration is in no list: it would be most of it. */
export function isIn({ definition: { metadata, namespace } }: Pick<RegisteredTool, 'definition'>, view: McpView): boolean {
  if (view.kind === 'home') return false;
  if (view.kind === 'area') return metadata.area !== undefined && areaKey(metadata.area) === areaKey(view.area);
  return namespace !== 'hub' || metadata.device !== undefined;
}

const severalOf = new WeakMap<readonly RegisteredTool[], ReadonlySet<string>>();

/** Names of which there are several versions; versions of a name stand side by side, and all have one name for models. */
function keysOfSeveral(tools: readonly RegisteredTool[]): ReadonlySet<string> {
  const known = severalOf.get(tools);
  if (known) return known;
  const several = new Set<string>();
  let before = '';
  for (const tool of tools) {
    const key = toolKey(tool);
    if (key === before) several.add(key);
    before = key;
  }
  severalOf.set(tools, several);
  return several;
}
