import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';
import type { RegisteredTool, ToolDefinition } from '../../tools/definition/tool-definition.ts';
import type { KnownToolFilter, KnownTools } from '../../tools/elsewhere/known-tools.ts';
import type { SearchQuery, ToolSearch, ToolSearchResult } from '../../tools/search/search.ts';
import { passes, type ToolPage } from '../../tools/tool-filter.ts';
import { canSeeTool } from '../../tools/visibility.ts';
import { MAX_BODY_BYTES } from '../door/json-body.ts';
import type { CallPort } from '../ports.ts';

const PAGE = 1_000;

interface CatalogueCollaborators {
  readonly tools: KnownTools;
  readonly authorizer: Authorizer;
  readonly pipeline: Pick<CallPort, 'offeredTo'>;
  readonly search: ToolSearch;
}

/** Which of the caller's tools a list shows. */
interface CatalogueFilter extends KnownToolFilter {
  /** Only what can be called without the owner configuring anything first. */
  readonly isReadyOnly?: boolean;
}

/** The tools that one caller may know of: the others do not exist for it. */
export class ToolCatalogue {
  readonly #tools: KnownTools;
  readonly #authorizer: Authorizer;
  readonly #pipeline: Pick<CallPort, 'offeredTo'>;
  readonly #search: ToolSearch;

  constructor({ tools, authorizer, pipeline, search }: CatalogueCollaborators) {
    this.#tools = tools;
    this.#authorizer = authorizer;
    this.#pipeline = pipeline;
    this.#search = search;
  }

  page(principal: Principal, { isReadyOnly = false, ...filter }: CatalogueFilter): ToolPage {
    const isVisible = this.visibleTo(principal);
    return this.#tools.list({ ...filter, isVisible: isReadyOnly ? (tool) => this.isReady(tool) && isVisible(tool) : isVisible });
  }

  all(principal: Principal, filter: CatalogueFilter = {}): readonly RegisteredTool[] {
    const found: RegisteredTool[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: ToolPage = this.page(principal, { ...filter, offset, limit: PAGE });
      found.push(...page.tools);
      offset = page.nextOffset;
    }
    return found;
  }

  /** The caller's tools that pass the filter and fit a sentence. */
  find(principal: Principal, query: SearchQuery, filter: KnownToolFilter = {}): ToolSearchResult {
    const isVisible = passes({ ...filter, isVisible: this.visibleTo(principal) });
    // The whole list and a condition, not a list of what passes: the search keeps its index for the list.
    return this.#search.search({ ...query, isReady: (tool) => this.isReady(tool) }, this.#tools.of(filter.node), isVisible);
  }

  /** Of a hub when it is named. TOOL_NOT_FOUND and AMBIGUOUS_TOOL as the registry tells them. */
  resolve(principal: Principal, name: string, node?: string): RegisteredTool {
    return this.#tools.resolve(name, {
      isVisible: (tool) => canSeeTool(tool, principal, this.#authorizer),
      isListed: this.visibleTo(principal),
      ...(node !== undefined && { onlyNodes: [node] }),
    });
  }

  /** Largest body, in bytes, in which the parameters of this tool come; of all that the caller has when none is named. */
  maxBodyBytes(principal: Principal, name?: string): number {
    const tools =
      name === undefined ? this.#tools.all().filter(takesMore).filter(this.visibleTo(principal)) : [this.#known(principal, name)];
    return tools.reduce((most, tool) => Math.max(most, (tool?.definition.execution.maxParamsBytes ?? 0) + MAX_BODY_BYTES), MAX_BODY_BYTES);
  }

  #known(principal: Principal, name: string): RegisteredTool | undefined {
    try {
      return this.resolve(principal, name);
    } catch {
      return undefined;
    }
  }

  /** The caller's tools that are ready, with their names for models. */
  described(principal: Principal): readonly { readonly id: string; readonly definition: ToolDefinition; readonly modelName: string }[] {
    return this.all(principal, { isReadyOnly: true }).map((tool) => ({
      id: tool.id,
      definition: tool.definition,
      modelName: this.modelName(tool),
    }));
  }

  modelName(tool: RegisteredTool): string {
    return this.#tools.modelName(tool);
  }

  /** False for a tool that nobody can call before the owner configures something. */
  isReady(tool: RegisteredTool): boolean {
    return this.#tools.isReady(tool);
  }

  /** Whether a call would run now: its device is there, and what it needs is configured, here or at another hub. */
  isAvailable(tool: RegisteredTool): boolean {
    if (tool.missingSetting?.() !== undefined) return this.isReady(tool);
    return tool.isAvailable?.() ?? true;
  }

  /** Whether a caller may do anything with a tool. */
  visibleTo(principal: Principal): (tool: RegisteredTool) => boolean {
    return this.#pipeline.offeredTo(principal);
  }
}

function takesMore({ definition: { execution } }: RegisteredTool): boolean {
  return execution.maxParamsBytes !== undefined;
}
