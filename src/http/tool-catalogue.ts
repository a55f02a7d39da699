import type { Authorizer, Principal } from '../core/auth/principal.ts';
import { oncePerObject } from '../core/lifecycle.ts';
import type { RegisteredTool, ToolDefinition } from '../tools/definition/tool-definition.ts';
import { toolKey } from '../tools/definition/tool-names.ts';
import { canSeeTool } from '../tools/definition/tool-permissions.ts';
import type { SearchedTools, ToolDirectory, ToolDirectoryFilter } from '../tools/registry/tool-directory.ts';
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
/** The tool that can read any sensor. The search offers it for questions about sensors. */
const SENSOR_READER = 'core:query_sensor';
/** The tool that controls all devices of a kind in a place. The search offers it for sentences about them. */
const AREA_CONTROLLER = 'core:control_area';

interface CatalogueCollaborators {
  readonly tools: ToolDirectory;
  readonly authorizer: Authorizer;
  readonly pipeline: Pick<CallPort, 'offeredTo' | 'obstacleTo'>;
  readonly search: ToolSearch;
  readonly entities: EntitySearch;
  readonly home: Pick<VisibleHome, 'devices' | 'devicesElsewhere' | 'isOther' | 'names' | 'readings'>;
}

interface CatalogueFilter extends ToolDirectoryFilter {
  /** If true, the list contains only tools that need no further setting of the owner. */
  readonly isReadyOnly?: boolean;
  /** If true, the list contains only the default version of each tool, so that names for models are unique in it. */
  readonly isDefaultVersionOnly?: boolean;
}

/** Lists, finds and resolves tools. Tools that the caller may not see are treated as if they did not exist. */
export class ToolCatalogue {
  readonly #parts: CatalogueCollaborators;
  readonly #search: HomeSearch;

  constructor(parts: CatalogueCollaborators) {
    this.#parts = parts;
    this.#search = new HomeSearch({ tools: parts.search, entities: parts.entities });
  }

  /**
   * Waits at most some seconds until other hubs' tools are loaded, those of other sites if they may have what is searched. Returns undefined
   * if they are loaded, or if this hub has the tool `name`.
   */
  whole(principal: Principal, name?: string, searched?: SearchedTools): Promise<void> | undefined {
    const isVisible = (tool: RegisteredTool) => canSeeTool(tool, principal, this.#parts.authorizer);
    return this.#parts.tools.awaitComplete(name, { isVisible }, searched);
  }

  page(principal: Principal, { isReadyOnly = false, isDefaultVersionOnly = false, ...filter }: CatalogueFilter): ToolPage {
    const conditions = [
      this.visibleTo(principal),
      ...(isReadyOnly ? [(tool: RegisteredTool) => this.isReady(tool)] : []),
      ...(isDefaultVersionOnly ? [this.defaultVersionFor(principal)] : []),
    ];
    return this.#parts.tools.list({ ...filter, isVisible: (tool) => conditions.every((holds) => holds(tool)) });
  }

  /** Returns a predicate that accepts a tool if it is the version to which the tool's name resolves for the caller. */
  defaultVersionFor(principal: Principal): (tool: RegisteredTool) => boolean {
    const several = multiVersionKeys(this.#parts.tools.all());
    return (tool) => !several.has(toolKey(tool)) || this.#isDefaultVersion(principal, tool);
  }

  /** Returns true if the tool's name resolves to this version, or is ambiguous. Ambiguous tools have distinct names for models. */
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

  /** Finds tools of the caller that pass the filter and match the query. Also finds the devices, readings and areas that match. */
  find(principal: Principal, query: SearchQuery, filter: ToolDirectoryFilter = {}): HomeSearchResult {
    const isVisible = filterPredicate({ ...filter, isVisible: this.visibleTo(principal) });
    const reader = this.known(principal, SENSOR_READER);
    const controller = this.known(principal, AREA_CONTROLLER);
    // The search caches an index for each list of tools. So it gets the whole list and a predicate instead of a filtered list.
    return this.#search.find(
      { ...query, isReady: (tool) => this.isReady(tool) },
      {
        tools: this.#parts.tools.toolsOf(filter.node),
        isVisible,
        home: this.#searchedHome(principal, filter),
        reader: reader && isVisible(reader) ? reader : undefined,
        controller: controller && isVisible(controller) ? controller : undefined,
        floorOf: (area) => this.#parts.home.names.areaNames(area).floor,
      },
    );
  }

  /** Returns the devices and sensors that the filter selects and the caller may see. This hub does not know the sensors of other hubs. */
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

  /** Returns the tool with this name; if `node` is given, on that hub. Throws the errors of `ToolDirectory.resolve`. */
  resolve(principal: Principal, name: string, node?: string): RegisteredTool {
    return this.#parts.tools.resolve(name, {
      isVisible: (tool) => canSeeTool(tool, principal, this.#parts.authorizer),
      isListed: this.visibleTo(principal),
      ...(node !== undefined && { onlyNodes: [node] }),
    });
  }

  /** Returns the maximum size in bytes of a body that calls this tool. Without a name, returns the maximum over all tools of the caller. */
  maxBodyBytes(principal: Principal, name?: string): number {
    const tools =
      name === undefined ? this.#parts.tools.all().filter(takesMore).filter(this.visibleTo(principal)) : [this.known(principal, name)];
    return tools.reduce((most, tool) => Math.max(most, (tool?.definition.execution.maxParamsBytes ?? 0) + MAX_BODY_BYTES), MAX_BODY_BYTES);
  }

  /** Returns the caller's tool with this name; undefined if no tool or several tools match. */
  known(principal: Principal, name: string): RegisteredTool | undefined {
    try {
      return this.#parts.tools.find(name, { isVisible: (tool) => canSeeTool(tool, principal, this.#parts.authorizer) });
    } catch {
      return undefined;
    }
  }

  /** Returns the caller's tools that need no further setting of the owner, with their names for models. */
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

  /** Returns false if this hub lacks a setting of the owner for the tool, and no other hub has the tool. Otherwise returns true. */
  isReady(tool: RegisteredTool): boolean {
    return this.#parts.tools.isReady(tool);
  }

  /** Returns why no call of the tool can run now; undefined if calls can run. */
  obstacleTo(tool: RegisteredTool): string | undefined {
    return this.#parts.pipeline.obstacleTo(tool);
  }

  /** Returns a predicate that accepts the tools that the caller may use. */
  visibleTo(principal: Principal): (tool: RegisteredTool) => boolean {
    return this.#parts.pipeline.offeredTo(principal);
  }
}

/** Returns the areas of other hubs' devices, by `<hub> <device>`. The metadata of the tools contain these areas. */
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
