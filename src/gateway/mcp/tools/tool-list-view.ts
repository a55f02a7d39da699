import type { Principal } from '../../../core/access/principal.ts';
import { areaKey } from '../../../core/devices/device-facts.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import type { KnownTools } from '../../../tools/elsewhere/known-tools.ts';
import type { ToolRunner } from '../calls/tool-run.ts';
import type { McpCaller, McpListener } from '../mcp-feature.ts';
import type { McpView } from '../mcp-view.ts';
import { type NamedToolParts, toolNamed } from './proxy-tools.ts';
import { mirroredSchema, shortToolForm, toolForm } from './tool-form.ts';
import { pageOf } from './tool-page.ts';

/** What the views of single tools are made from. */
export interface ListViewParts extends NamedToolParts {
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
  async list(cursor: Json | undefined, { principal, view }: McpCaller): Promise<JsonObject> {
    const { catalogue, tools } = this.#parts;
    await catalogue.whole(principal);
    const formOf = isFull(view) ? toolForm : shortToolForm;
    const page = pageOf(tools.all(), this.#listedIn(view, principal), cursor);
    return {
      tools: page.tools.map((tool) => formOf(tool, catalogue.modelName(tool))),
      ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }),
    };
  }

  /** TOOL_NOT_FOUND for what the view does not list, with the names that are near. */
  async call(name: string, params: JsonObject, caller: McpCaller): Promise<JsonObject> {
    const tool = await this.#find(name, caller);
    const listing = isFull(caller.view) && tool.definition.returns.type === 'object' ? 'typed' : 'open';
    return this.#parts.run({ tool, params, listing }, caller);
  }

  /** The schema of a tool of the list whose arguments a client mirrors in headers. */
  mirrored(name: string, listener: McpListener): JsonObject | undefined {
    const { catalogue } = this.#parts;
    const tool = catalogue.known(listener.principal, name);
    return tool && isIn(tool, listener.view) ? mirroredSchema(tool, catalogue.modelName(tool)) : undefined;
  }

  async #find(name: string, { principal, view }: McpCaller): Promise<RegisteredTool> {
    const tool = await toolNamed(this.#parts, principal, name);
    if (isIn(tool, view)) return tool;
    const shown = JSON.stringify(name.slice(0, 160));
    throw new AtmoError('TOOL_NOT_FOUND', `${shown} is not listed here; list the tools, or call it at /mcp by control_tool or read_tool`);
  }

  #listedIn(view: McpView, principal: Principal): (tool: RegisteredTool) => boolean {
    const { catalogue } = this.#parts;
    const isVisible = catalogue.visibleTo(principal);
    const isMeant = catalogue.meantBy(principal);
    return (tool) => isIn(tool, view) && catalogue.isReady(tool) && isVisible(tool) && isMeant(tool);
  }
}

function isFull(view: McpView): boolean {
  return view.kind !== 'home' && view.isFull === true;
}

/** The hub's own administration is in no list: it would be most of it. */
export function isIn({ definition: { metadata, namespace } }: Pick<RegisteredTool, 'definition'>, view: McpView): boolean {
  if (view.kind === 'home') return false;
  if (view.kind === 'area') return metadata.area !== undefined && areaKey(metadata.area) === areaKey(view.area);
  return namespace !== 'hub' || metadata.device !== undefined;
}
