import { compareText } from '../../../core/edit-distance.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { HubId, ToolId } from '../../../core/ids.ts';
import type { RegisteredTool, ToolDefinition } from '../../../tools/definition/tool-definition.ts';
import { toolKey } from '../../../tools/definition/tool-name.ts';
import type { RemoteResolveOptions, RemoteTools } from '../../../tools/elsewhere/remote-tools.ts';
import { sha256Hex } from '../../../wire/hashes.ts';
import type { AnnouncedTool } from '../../../wire/messages/announced-entries.ts';
import { type HubDirectory, isPresent, type KnownHub } from '../hubs/known-hub.ts';
import type { DefinitionBook } from './definition-book.ts';
import { HubTools } from './hub-tools.ts';

interface CatalogueCollaborators {
  readonly directory: HubDirectory;
  readonly definitions: DefinitionBook;
}

interface IndexedHub {
  /** What was announced when the index was made. */
  readonly announced: readonly AnnouncedTool[];
  /** Some definitions were not here yet. */
  readonly isPartial: boolean;
  readonly index: HubTools;
}

/** A tool and the hub on which its name was looked up. */
interface Candidate {
  readonly tool: RegisteredTool;
  readonly hub: HubId;
}

const MODEL_NAME_STEM = 33;
const DISTINCT_NAME = /_[0-9a-f]{6}$/;

/**
 * The tools of the other hubs. Names are looked up hub by hub, so that no hub's names change what another hub's mean; then
 * equal tools become one. Definitions are read when somebody asks for tools, not when they arrive.
 */
export class MeshCatalogue implements RemoteTools {
  readonly #directory: HubDirectory;
  readonly #definitions: DefinitionBook;
  readonly #listeners = new Set<() => void>();
  readonly #indexed = new Map<HubId, IndexedHub>();
  /** Merge key → tool; kept while any hub has it, so that a tool is the same object from one question to the next. */
  readonly #tools = new Map<string, RegisteredTool>();
  /** What a name of its own is made from. */
  readonly #identities = new WeakMap<RegisteredTool, string>();
  #all: readonly RegisteredTool[] | undefined;
  #modelNames: ReadonlyMap<RegisteredTool, string> | undefined;

  constructor({ directory, definitions }: CatalogueCollaborators) {
    this.#directory = directory;
    this.#definitions = definitions;
    directory.onChange(() => this.refresh());
  }

  /** Definitions arrived: what was missing is looked for again. */
  refresh(): void {
    this.#all = undefined;
    this.#modelNames = undefined;
    for (const [id, { isPartial }] of this.#indexed) if (isPartial) this.#indexed.delete(id);
    for (const listener of this.#listeners) listener();
  }

  all(): readonly RegisteredTool[] {
    this.#all ??= this.#collect();
    return this.#all;
  }

  resolve(name: string, options: RemoteResolveOptions): RegisteredTool | undefined {
    const hubs = this.#presentHubs().filter((hub) => isMeant(hub, options.onlyNodes));
    const candidates = hubs.flatMap((hub) =>
      this.#indexOf(hub)
        .find(name, options)
        .map((tool) => ({ tool, hub: hub.id })),
    );
    const found = candidates.length > 0 ? candidates : this.#findByDistinctName(name, options);
    const [first, ...others] = new Set(found.map(({ tool }) => tool));
    if (others.length > 0) throw ambiguous(name, found);
    return first;
  }

  /** Hubs that said goodbye or fell silent a few minutes ago, with a tool that `resolve` would find if they were here. */
  departed(name: string, options: RemoteResolveOptions): readonly Pick<KnownHub, 'id' | 'name'>[] {
    const hubs = this.#directory.hubs().filter((hub) => !isPresent(hub) && isMeant(hub, options.onlyNodes));
    return hubs.filter((hub) => this.#indexOf(hub).find(name, options).length > 0).map(({ id, name: shown }) => ({ id, name: shown }));
  }

  modelName(tool: RegisteredTool): string {
    this.#modelNames ??= this.#nameAll();
    return this.#modelNames.get(tool) ?? this.#distinctName(tool);
  }

  hubsWith(toolId: string): readonly HubId[] {
    const hubs = this.#presentHubs().filter((hub) => hub.tools.some(({ id }) => id === toolId));
    return hubs.map(({ id }) => id);
  }

  hubsWithDevice(idOrName: string): readonly HubId[] {
    const hubs = this.#presentHubs().filter((hub) => hub.devices.some(({ id, name }) => id === idOrName || name === idOrName));
    return hubs.map(({ id }) => id);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #presentHubs(): readonly KnownHub[] {
    return this.#directory.hubs().filter(isPresent);
  }

  #collect(): readonly RegisteredTool[] {
    const hubs = this.#presentHubs();
    const tools = new Set(hubs.flatMap((hub) => this.#indexOf(hub).tools));
    const present = new Set(hubs.map(({ id }) => id));
    for (const id of this.#indexed.keys()) if (!present.has(id)) this.#indexed.delete(id);
    for (const [key, tool] of this.#tools) if (!tools.has(tool)) this.#tools.delete(key);
    return [...tools].sort((a, b) => compareText(a.id, b.id) || compareText(hubsOf(a), hubsOf(b)));
  }

  #indexOf(hub: KnownHub): IndexedHub['index'] {
    const known = this.#indexed.get(hub.id);
    if (known?.announced === hub.tools) return known.index;
    const tools = hub.tools.flatMap((announced) => this.#toolOf(hub.id, announced) ?? []);
    const index = new HubTools(tools);
    this.#indexed.set(hub.id, { announced: hub.tools, isPartial: tools.length < hub.tools.length, index });
    return index;
  }

  #toolOf(hub: HubId, { id, hash }: AnnouncedTool): RegisteredTool | undefined {
    const definition = this.#definitions.get(hash, id, hub);
    if (!definition) return undefined;
    const isOwnDevice = definition.metadata.device !== undefined;
    const key = isOwnDevice ? `${hash} ${id} ${hub}` : `${hash} ${id}`;
    const known = this.#tools.get(key);
    if (known) return known;
    const tool = isOwnDevice ? this.#deviceTool(hub, definition, id) : this.#sharedTool(definition, { id, hash });
    this.#tools.set(key, tool);
    this.#identities.set(tool, `${toolKey(tool)} ${isOwnDevice ? hub : hash}`);
    return tool;
  }

  #deviceTool(hub: HubId, definition: ToolDefinition, id: string): RegisteredTool {
    const { device } = definition.metadata;
    const here = () => this.#directory.hub(hub);
    return {
      id: id as ToolId,
      definition,
      handler: runsElsewhere(id),
      hubs: () => [here()].filter((known) => known !== undefined && isPresent(known)).map(() => hub),
      isAvailable: () => here()?.devices.find((other) => other.id === device)?.isReachable ?? true,
    };
  }

  #sharedTool(definition: ToolDefinition, announced: AnnouncedTool): RegisteredTool {
    const offers = ({ tools }: KnownHub) => tools.some(({ id, hash }) => id === announced.id && hash === announced.hash);
    return {
      id: announced.id as ToolId,
      definition,
      handler: runsElsewhere(announced.id),
      hubs: () =>
        this.#presentHubs()
          .filter(offers)
          .map(({ id }) => id),
    };
  }

  /** Where different tools share a plain name, each gets one that depends on nothing but itself. */
  #nameAll(): ReadonlyMap<RegisteredTool, string> {
    const namesakes = Map.groupBy(this.all(), (tool) => this.#plainName(tool));
    const names = new Map<RegisteredTool, string>();
    for (const [plain, tools] of namesakes) {
      const isPlain = areVersionsOfOne(tools);
      for (const tool of tools) names.set(tool, isPlain ? plain : this.#distinctName(tool));
    }
    return names;
  }

  /** At most 40 characters, as every name for models. */
  #distinctName(tool: RegisteredTool): string {
    const suffix = sha256Hex(this.#identities.get(tool) ?? tool.id).slice(0, 6);
    return `${this.#plainName(tool).slice(0, MODEL_NAME_STEM)}_${suffix}`;
  }

  /** As the first of its hubs calls it. */
  #plainName(tool: RegisteredTool): string {
    const indexes = (tool.hubs?.() ?? []).map((hub) => this.#indexed.get(hub)?.index.modelName(tool));
    return indexes.find((name) => name !== undefined) ?? tool.definition.name;
  }

  #findByDistinctName(name: string, options: RemoteResolveOptions): readonly Candidate[] {
    if (!DISTINCT_NAME.test(name)) return [];
    const isVisible = options.isVisible ?? (() => true);
    return this.all()
      .filter((tool) => isVisible(tool) && this.#distinctName(tool) === name)
      .flatMap((tool) => (tool.hubs?.() ?? []).map((hub) => ({ tool, hub })))
      .filter(({ hub }) => isMeant(this.#directory.hub(hub), options.onlyNodes));
  }
}

function isMeant(hub: KnownHub | undefined, onlyNodes: readonly string[] | undefined): boolean {
  return hub !== undefined && (onlyNodes?.some((node) => node === hub.id || node === hub.name) ?? true);
}

function hubsOf(tool: RegisteredTool): string {
  return (tool.hubs?.() ?? []).join(' ');
}

/** Versions of one tool share its name, as they do in the hub that has them. */
function areVersionsOfOne(tools: readonly RegisteredTool[]): boolean {
  const [first, ...others] = tools;
  if (!first) return true;
  const hubs = others.map((tool) => new Set(tool.hubs?.()));
  const isOnAll = (first.hubs?.() ?? []).some((hub) => hubs.every((own) => own.has(hub)));
  return others.length === 0 || (isOnAll && others.every((tool) => toolKey(tool) === toolKey(first)));
}

function runsElsewhere(id: string): RegisteredTool['handler'] {
  return async () => {
    throw new AtmoError('NODE_UNAVAILABLE', `The tool ${id} belongs to another hub and cannot run here; send the call there`);
  };
}

function ambiguous(name: string, candidates: readonly Candidate[]): AtmoError {
  const list = candidates.map(({ tool, hub }) => ({ id: tool.id as string, node: hub as string }));
  const shown = list.slice(0, 8).map(({ id, node }) => `${id} on ${node}`);
  return new AtmoError(
    'AMBIGUOUS_TOOL',
    `${JSON.stringify(name.slice(0, 160))} fits ${shown.join(', ')}; write the whole id, or name the hub: only_nodes, at the command line --hub`,
    { candidates: list },
  );
}
