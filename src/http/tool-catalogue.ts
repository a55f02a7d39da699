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
/** Reads whatever sensor a question is about. */
const SENSOR_READER = 'core:query_sensor';

type HomeReader = Pick<VisibleHome, 'devices' | 'devicesElsewhere' | 'isOther' | 'readings'>;

interface CatalogueCollaborators {
  readonly tools: ToolDirectory;
  readonly authorizer: Authorizer;
  readonly pipeline: Pick<CallPort, 'offeredTo' | 'obstacleTo'>;
  readonly search: ToolSearch;
  readonly entities: EntitySearch;
  readonly sight: HomeReader;
}

/** Which of the caller's tools a list shows. */
interface CatalogueFilter extends ToolDirectoryFilter {
  /** Only what can be called without the owner configuring anything first. */
  readonly isReadyOnly?: boolean;
  /** Of several versions only the one that the name means, so that no two tools of the list have one name for models. */
  readonly isMeantOnly?: boolean;
}

/** The tools that one caller may know of: the others do not exist for it. */
export class ToolCatalogue {
  readonly #tools: ToolDirectory;
  readonly #authorizer: Authorizer;
  readonly #pipeline: Pick<CallPort, 'offeredTo' | 'obstacleTo'>;
  readonly #search: HomeSearch;
  readonly #sight: HomeReader;

  constructor({ tools, authorizer, pipeline, search, entities, sight }: CatalogueCollaborators) {
    this.#tools = tools;
    this.#authorizer = authorizer;
    this.#pipeline = pipeline;
    this.#search = new HomeSearch({ tools: search, entities });
    this.#sight = sight;
  }

  /** Resolves when the tools of the other hubs are known, or of one name alone; undefined when they are. At most for some seconds. */
  whole(principal: Principal, name?: string): Promise<void> | undefined {
    return this.#tools.awaitComplete(name, { isVisible: (tool) => canSeeTool(tool, principal, this.#authorizer) });
  }

  page(principal: Principal, { isReadyOnly = false, isMeantOnly = false, ...filter }: CatalogueFilter): ToolPage {
    const conditions = [
      this.visibleTo(principal),
      ...(isReadyOnly ? [(tool: RegisteredTool) => this.isReady(tool)] : []),
      ...(isMeantOnly ? [this.defaultVersionFor(principal)] : []),
    ];
    return this.#tools.list({ ...filter, isVisible: (tool) => conditions.every((holds) => holds(tool)) });
  }

  /** False for a version of a tool that a caller gets only by writing that version. */
  defaultVersionFor(principal: Principal): (tool: RegisteredTool) => boolean {
    const several = multiVersionKeys(this.#tools.all());
    return (tool) => !several.has(toolKey(tool)) || this.#isMeant(principal, tool);
  }

  /** Where a name means none of several, such as a device's tool that two hubs have, each has a name of its own for models. */
  #isMeant(principal: Principal, tool: RegisteredTool): boolean {
    const meant = this.known(principal, toolKey(tool));
    return meant === undefined || meant.id === tool.id;
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

  /** The caller's tools that pass the filter and fit a sentence, with the devices, readings and areas that it is about. */
  find(principal: Principal, query: SearchQuery, filter: ToolDirectoryFilter = {}): HomeSearchResult {
    const isVisible = filterPredicate({ ...filter, isVisible: this.visibleTo(principal) });
    // The whole list and a condition, not a list of what passes: the search keeps its index for the list.
    const reader = this.known(principal, SENSOR_READER);
    return this.#search.find(
      { ...query, isReady: (tool) => this.isReady(tool) },
      {
        tools: this.#tools.toolsOf(filter.node),
        isVisible,
        home: this.#home(principal, filter),
        reader: reader && isVisible(reader) ? reader : undefined,
      },
    );
  }

  /** What of the home a caller may know of and a list is asked for. Other hubs tell their devices, and no readings. */
  #home(principal: Principal, { device, node, isInArea = () => true }: ToolDirectoryFilter): SearchedHome {
    const isMeant = (id: string, area: string | undefined) => (device === undefined || id === device) && isInArea(area ?? '');
    const isHere = node === undefined || !this.#sight.isOther(node);
    const areas = remoteAreas(this.#tools.all());
    const elsewhere = this.#sight.devicesElsewhere(principal, node).map((other) => {
      const area = areas.get(`${other.node} ${other.id}`);
      return { ...other, ...(area !== undefined && { area }) };
    });
    const devices: readonly SearchedDevice[] = [...(isHere ? this.#sight.devices(principal) : []), ...elsewhere];
    const sensors = isHere ? this.#sight.readings(principal).map(({ sensor }) => sensor) : [];
    return {
      devices: devices.filter(({ id, area }) => isMeant(id, area)),
      sensors: sensors.filter((sensor) => isMeant(sensor.device, sensor.area)),
    };
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
      name === undefined ? this.#tools.all().filter(takesMore).filter(this.visibleTo(principal)) : [this.known(principal, name)];
    return tools.reduce((most, tool) => Math.max(most, (tool?.definition.execution.maxParamsBytes ?? 0) + MAX_BODY_BYTES), MAX_BODY_BYTES);
  }

  /** The tool that a name means to a caller; undefined for a name that fits none or several. */
  known(principal: Principal, name: string): RegisteredTool | undefined {
    try {
      return this.#tools.find(name, { isVisible: (tool) => canSeeTool(tool, principal, this.#authorizer) });
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

  /** Why no call of a tool would run now; undefined where one would. */
  obstacleTo(tool: RegisteredTool): string | undefined {
    return this.#pipeline.obstacleTo(tool);
  }

  /** Whether a caller may do anything with a tool. */
  visibleTo(principal: Principal): (tool: RegisteredTool) => boolean {
    return this.#pipeline.offeredTo(principal);
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

/** Returns the names of tools that exist in several versions. */
const multiVersionKeys = oncePerObject((tools: readonly RegisteredTool[]): ReadonlySet<string> => {
  const counts = Map.groupBy(tools, toolKey);
  return new Set([...counts].filter(([, versions]) => versions.length > 1).map(([key]) => key));
});

function takesMore({ definition: { execution } }: RegisteredTool): boolean {
  return execution.maxParamsBytes !== undefined;
}
