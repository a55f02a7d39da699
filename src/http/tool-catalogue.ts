import type { Authorizer, Principal } from '../core/auth/principal.ts';
import { oncePerObject } from '../core/lifecycle.ts';
import type { RegisteredTool, ToolDefinition } from '../tools/definition/tool-definition.ts';
import { toolKey } from '../tools/definition/tool-names.ts';
import { canSeeTool } from '../tools/definition/tool-permissions.ts';
import type { ToolDirectory, ToolDirectoryFilter } from '../tools/registry/tool-directory.ts';
import { filterPredicate, type ToolPage } from '../tools/registry/tool-registry.ts';
import {
  type EntitySearch,
  HomeSearch,
  type HomeSearchResult,
  type SearchedDevice,
  type SearchedHome,
  type SearchQuery,
  type ToolSearch,
} from '../tools/search/home-search.ts';
import type { CallPort } from './ports.ts';
import { MAX_BODY_BYTES } from './server/request-body.ts';
import type { VisibleHome } from './visible-home.ts';

const PAGE = 1_000;
/** The tool that reads any sensor, for questions about sensors. */
const SENSOR_READER = 'core:query_sensor';

interface CatalogueCollaborators {
  readonly tools: ToolDirectory;
  readonly authorizer: Authorizer;
  readonly pipeline: Pick<CallPort, 'offeredTo' | 'obstacleTo'>;
  readonly search: ToolSearch;
  readonly entities: EntitySearch;
  readonly home: Pick<VisibleHome, 'devices' | 'devicesElsewhere' | 'isOther' | 'readings'>;
}

interface CatalogueFilter extends ToolDirectoryFilter {
  /** Only tools that can be called without a further configuration. */
  readonly isReadyOnly?: boolean;
  /** Of several versions only the version to which the name resolves, so that names for models are unique in the list. */
  readonly isDefaultVersionOnly?: boolean;
}

/** Lists, finds and resolves the tools that a caller may see; all others do not exist for it. */
export class ToolCatalogue {
  readonly #parts: CatalogueCollaborators;
  readonly #search: HomeSearch;

  constructor(parts: CatalogueCollaborators) {
    this.#parts = parts;
    this.#search = new HomeSearch({ tools: parts.search, entities: parts.entities });
  }

  /** Resolves when the tools of the other hubs (or those with `name`) are loaded, or after some seconds; undefined if they are. */
  whole(principal: Principal, name?: string): Promise<void> | undefined {
    return this.#parts.tools.awaitComplete(name, { isVisible: (tool) => canSeeTool(tool, principal, this.#parts.authorizer) });
  }

  page(principal: Principal, { isReadyOnly = false, isDefaultVersionOnly = false, ...filter }: CatalogueFilter): ToolPage {
    const conditions = [
      this.visibleTo(principal),
      ...(isReadyOnly ? [(tool: RegisteredTool) => this.isReady(tool)] : []),
      ...(isDefaultVersionOnly ? [this.defaultVersionFor(principal)] : []),
    ];
    return this.#parts.tools.list({ ...filter, isVisible: (tool) => conditions.every((holds) => holds(tool)) });
  }

  /** Returns a predicate that is false for tools that the caller can address only with their version. */
  defaultVersionFor(principal: Principal): (tool: RegisteredTool) => boolean {
    const several = multiVersionKeys(this.#parts.tools.all());
    return (tool) => !several.has(toolKey(tool)) || this.#isDefaultVersion(principal, tool);
  }

  /** Returns whether the tool's name resolves to it. Tools with an ambiguous name have different names for models. */
  #isDefaultVersion(principal: Principal, tool: RegisteredTool): boolean {
    const resolved = this.known(principal, toolKey(tool));
    return resolved === undefined || resolved.id === tool.id;
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

  /** Returns the caller's tools that pass the filter and match the query, with the devices, readings and areas that match it. */
  find(principal: Principal, query: SearchQuery, filter: ToolDirectoryFilter = {}): HomeSearchResult {
    const isVisible = filterPredicate({ ...filter, isVisible: this.visibleTo(principal) });
    const reader = this.known(principal, SENSOR_READER);
    // The search caches its index by the whole list, so the filter is passed as a condition.
    return this.#search.find(
      { ...query, isReady: (tool) => this.isReady(tool) },
      {
        tools: this.#parts.tools.toolsOf(filter.node),
        isVisible,
        home: this.#searchedHome(principal, filter),
        reader: reader && isVisible(reader) ? reader : undefined,
      },
    );
  }

  /** Returns the devices and sensors that the caller may see and the filter selects. Of other hubs only devices are known. */
  #searchedHome(principal: Principal, { device, node, isInArea = () => true }: ToolDirectoryFilter): SearchedHome {
    const isSelected = (id: string, area: string | undefined) => (device === undefined || id === device) && isInArea(area ?? '');
    const isHere = node === undefined || !this.#parts.home.isOther(node);
    const areas = remoteAreas(this.#parts.tools.all());
    const remote = this.#parts.home.devicesElsewhere(principal, node).map((other) => {
      const area = areas.get(`${other.node} ${other.id}`);
      return { ...other, ...(area !== undefined && { area }) };
    });
    const devices: readonly SearchedDevice[] = [...(isHere ? this.#parts.home.devices(principal) : []), ...remote];
    const sensors = isHere ? this.#parts.home.readings(principal).map(({ sensor }) => sensor) : [];
    return {
      devices: devices.filter(({ id, area }) => isSelected(id, area)),
      sensors: sensors.filter((sensor) => isSelected(sensor.device, sensor.area)),
    };
  }

  /** Returns the tool of this name, of the hub `node` when given. Throws TOOL_NOT_FOUND and AMBIGUOUS_TOOL as the registry does. */
  resolve(principal: Principal, name: string, node?: string): RegisteredTool {
    return this.#parts.tools.resolve(name, {
      isVisible: (tool) => canSeeTool(tool, principal, this.#parts.authorizer),
      isListed: this.visibleTo(principal),
      ...(node !== undefined && { onlyNodes: [node] }),
    });
  }

  /** Returns the largest allowed body in bytes for calls of this tool, or of any of the caller's tools without a name. */
  maxBodyBytes(principal: Principal, name?: string): number {
    const tools =
      name === undefined ? this.#parts.tools.all().filter(takesMore).filter(this.visibleTo(principal)) : [this.known(principal, name)];
    return tools.reduce((most, tool) => Math.max(most, (tool?.definition.execution.maxParamsBytes ?? 0) + MAX_BODY_BYTES), MAX_BODY_BYTES);
  }

  /** Returns the caller's tool with this name; undefined if no tool or several match. */
  known(principal: Principal, name: string): RegisteredTool | undefined {
    try {
      return this.#parts.tools.find(name, { isVisible: (tool) => canSeeTool(tool, principal, this.#parts.authorizer) });
    } catch {
      return undefined;
    }
  }

  /** Returns the caller's tools that are ready, with their names for models. */
  described(principal: Principal): readonly { readonly id: string; readonly definition: ToolDefinition; readonly modelName: string }[] {
    return this.all(principal, { isReadyOnly: true }).map((tool) => ({
      id: tool.id,
      definition: tool.definition,
      modelName: this.modelName(tool),
    }));
  }

  modelName(tool: RegisteredTool): string {
    return this.#parts.tools.modelName(tool);
  }

  /** Returns false for a tool that cannot be called before the owner configures something. */
  isReady(tool: RegisteredTool): boolean {
    return this.#parts.tools.isReady(tool);
  }

  /** Returns why a call of the tool would fail now; undefined when it would run. */
  obstacleTo(tool: RegisteredTool): string | undefined {
    return this.#parts.pipeline.obstacleTo(tool);
  }

  /** Returns a predicate for the tools that the caller may use. */
  visibleTo(principal: Principal): (tool: RegisteredTool) => boolean {
    return this.#parts.pipeline.offeredTo(principal);
  }
}

/** Returns the areas of remote devices, from the metadata of their tools, by `<hub> <device>`. */
const remoteAreas = oncePerObject((tools: readonly RegisteredTool[]): ReadonlyMap<string, string> => {
  const areas = new Map<string, string>();
  for (const { hubs, definition } of tools) {
    const { device, area } = definition.metadata;
    if (!hubs || device === undefined || area === undefined) continue;
    for (const hub of hubs()) areas.set(`${hub} ${device}`, area);
  }
  return areas;
});

const multiVersionKeys = oncePerObject((tools: readonly RegisteredTool[]): ReadonlySet<string> => {
  const counts = Map.groupBy(tools, toolKey);
  return new Set([...counts].filter(([, versions]) => versions.length > 1).map(([key]) => key));
});

function takesMore({ definition: { execution } }: RegisteredTool): boolean {
  return execution.maxParamsBytes !== undefined;
}
