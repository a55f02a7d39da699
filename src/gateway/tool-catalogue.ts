import type { Authorizer } from '../core/authorizer.ts';
import type { Principal } from '../core/principal.ts';
import type { RegisteredTool } from '../tools/tool-definition.ts';
import type { ToolFilter, ToolPage } from '../tools/tool-filter.ts';
import type { ToolRegistry } from '../tools/tool-registry.ts';
import { canSeeTool } from '../tools/visibility.ts';
import type { CallPort } from './ports.ts';

const PAGE = 1_000;

interface CatalogueCollaborators {
  readonly registry: ToolRegistry;
  readonly authorizer: Authorizer;
  readonly pipeline: Pick<CallPort, 'offeredTo'>;
}

/** The tools that one caller may know of: the others do not exist for it. */
export class ToolCatalogue {
  readonly #registry: ToolRegistry;
  readonly #authorizer: Authorizer;
  readonly #pipeline: Pick<CallPort, 'offeredTo'>;

  constructor({ registry, authorizer, pipeline }: CatalogueCollaborators) {
    this.#registry = registry;
    this.#authorizer = authorizer;
    this.#pipeline = pipeline;
  }

  page(principal: Principal, filter: ToolFilter): ToolPage {
    return this.#registry.list({ ...filter, isVisible: this.visibleTo(principal) });
  }

  all(principal: Principal, filter: ToolFilter = {}): readonly RegisteredTool[] {
    const found: RegisteredTool[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: ToolPage = this.page(principal, { ...filter, offset, limit: PAGE });
      found.push(...page.tools);
      offset = page.nextOffset;
    }
    return found;
  }

  /** TOOL_NOT_FOUND and AMBIGUOUS_TOOL as the registry tells them. */
  resolve(principal: Principal, name: string): RegisteredTool {
    return this.#registry.resolve(name, {
      isVisible: (tool) => canSeeTool(tool, principal, this.#authorizer),
      isListed: this.visibleTo(principal),
    });
  }

  modelName(tool: RegisteredTool): string {
    return this.#registry.modelName(tool);
  }

  /** Whether a caller may do anything with a tool. */
  visibleTo(principal: Principal): (tool: RegisteredTool) => boolean {
    return this.#pipeline.offeredTo(principal);
  }
}
