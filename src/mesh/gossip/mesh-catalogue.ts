import semver from 'semver';
import { sha256Hex } from '../../codec/hashes.ts';
import type { AnnouncedTool } from '../../codec/messages/announced-state.ts';
import type { Clock } from '../../core/clock.ts';
import { compareText } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId, ToolId } from '../../core/ids.ts';
import type { RegisteredTool, ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { toolKey } from '../../tools/definition/tool-names.ts';
import type { RemoteResolveOptions, RemoteTools } from '../../tools/registry/tool-directory.ts';
import type { DefinitionStore, OfferedTool } from './definition-store.ts';
import { HubToolIndex } from './hub-tool-index.ts';
import { type HubDirectory, isPresent, type KnownHub } from './known-hub.ts';

interface CatalogueCollaborators {
  readonly directory: HubDirectory;
  readonly definitions: DefinitionStore;
  readonly clock: Clock;
}

interface IndexedHub {
  /** What was announced when the index was made. */
  readonly announced: readonly AnnouncedTool[];
  /** Ids of its devices then, each in a line. */
  readonly devices: string;
  /** Some definitions were not read yet. */
  readonly isPartial: boolean;
  readonly index: HubToolIndex;
}

/** A tool and the hub on which its name was looked up. */
interface Candidate {
  readonly tool: RegisteredTool;
  readonly hub: HubId;
}

/** After so long nobody waits any more for what a hub announces: it may never come. */
const PATIENCE_MS = 10_000;
/** While a hub with many tools is read, listeners hear of it so often. */
const NOTIFY_MS = 500;
const MODEL_NAME_STEM = 33;
/** Namespace of the tools of devices. */
const DEVICES = 'matter';
const DISTINCT_NAME = /_[0-9a-f]{6}$/;

/**
 * The tools of the other hubs. Names are looked up hub by hub, so that no hub's names change what another hub's mean; then
 * equal tools become one. Definitions are read turn by turn from when they arrive; until all are, `whole` is to be waited for.
 */
export class MeshCatalogue implements RemoteTools {
  readonly #directory: HubDirectory;
  readonly #definitions: DefinitionStore;
  readonly #listeners = new Set<() => void>();
  readonly #indexed = new Map<HubId, IndexedHub>();
  /** Merge key → tool; kept while any hub has it, so that a tool is the same object from one question to the next. */
  readonly #tools = new Map<string, RegisteredTool>();
  /** What a name of its own is made from. */
  readonly #identities = new WeakMap<RegisteredTool, string>();
  readonly #deviceIds = new WeakMap<KnownHub['devices'], string>();
  readonly #clock: Clock;
  /** Lists of tools of which every definition was read. */
  readonly #readLists = new WeakSet<KnownHub['tools']>();
  /** Since when a hub is not wholly known. */
  readonly #unreadSinceMs = new Map<HubId, number>();
  /** Something was read that listeners have not heard of. */
  #hasNews = false;
  #toldMs = Number.NEGATIVE_INFINITY;
  #reads = 0;
  #all: readonly RegisteredTool[] | undefined;
  #modelNames: ReadonlyMap<RegisteredTool, string> | undefined;

  constructor({ directory, definitions, clock }: CatalogueCollaborators) {
    this.#directory = directory;
    this.#definitions = definitions;
    this.#clock = clock;
    directory.onChange(() => this.refresh());
  }

  /** Announcements or definitions arrived: they are read from now on. */
  refresh(): void {
    this.#forget();
    if (this.#unread().length > 0) this.#definitions.soon();
    this.#tell();
  }

  /** Reads as much as one turn allows; listeners hear of it at the end, and now and then before. */
  readSome(): void {
    this.#read();
    const isOver = !this.#unread().some(({ tools }) => tools.some(({ hash }) => this.#canRead(hash)));
    if (!this.#hasNews || !(isOver || this.#isDue())) return;
    this.#forget();
    this.#tell();
  }

  incompleteHubs(onlyNodes?: readonly string[]): readonly Pick<KnownHub, 'id' | 'name'>[] {
    const isAwaited = (hub: KnownHub) => isAmongNodes(hub, onlyNodes) && this.#patienceMs(hub) > 0;
    return this.#unread()
      .filter(isAwaited)
      .map(({ id, name }) => ({ id, name }));
  }

  awaitComplete(onlyNodes?: readonly string[]): Promise<void> | undefined {
    if (this.incompleteHubs(onlyNodes).length > 0) this.#read();
    if (this.incompleteHubs(onlyNodes).length === 0) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.onChange(() => {
      if (this.incompleteHubs(onlyNodes).length === 0) resolve();
    });
    const cancel = this.#clock.after(PATIENCE_MS, resolve);
    return promise.finally(() => {
      stop();
      cancel();
    });
  }

  all(): readonly RegisteredTool[] {
    this.#all ??= this.#collect();
    return this.#all;
  }

  resolve(name: string, options: RemoteResolveOptions): RegisteredTool | undefined {
    const hubs = this.#presentHubs().filter((hub) => isAmongNodes(hub, options.onlyNodes));
    const candidates = hubs.flatMap((hub) =>
      this.#indexOf(hub)
        .find(name, options)
        .map((tool) => ({ tool, hub: hub.id })),
    );
    const found = candidates.length > 0 ? ofDevicesFirst(candidates) : this.#findByDistinctName(name, options);
    const [first, ...others] = new Set(found.map(({ tool }) => tool));
    if (first === undefined || others.length === 0) return first;
    const newest = newestOfOne([first, ...others]);
    if (newest === undefined) throw ambiguous(name, found);
    return newest;
  }

  /** Hubs that said goodbye or fell silent a few minutes ago, with a tool that `resolve` would find if they were here. */
  departedHubs(name: string, options: RemoteResolveOptions): readonly Pick<KnownHub, 'id' | 'name'>[] {
    const hubs = this.#directory.hubs().filter((hub) => !isPresent(hub) && isAmongNodes(hub, options.onlyNodes));
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

  /** Hubs whose newest tools are not all read, those that left among them as far as there is something to read. */
  #unread(): readonly KnownHub[] {
    const unread = this.#directory.hubs().filter((hub) => !this.#isWhole(hub));
    const ids = new Set(unread.map(({ id }) => id));
    for (const id of this.#unreadSinceMs.keys()) if (!ids.has(id)) this.#unreadSinceMs.delete(id);
    for (const id of ids) if (!this.#unreadSinceMs.has(id)) this.#unreadSinceMs.set(id, this.#clock.monotonic());
    return unread;
  }

  #isWhole(hub: KnownHub): boolean {
    const { tools } = hub;
    if (isPresent(hub) && hub.lacksPages) return false;
    if (this.#readLists.has(tools)) return true;
    if (!tools.every(({ hash }) => this.#definitions.isRead(hash))) {
      return !isPresent(hub) && !tools.some(({ hash }) => this.#canRead(hash));
    }
    this.#readLists.add(tools);
    return true;
  }

  #canRead(hash: string): boolean {
    return !this.#definitions.isRead(hash) && this.#definitions.isHere(hash);
  }

  #patienceMs({ id }: KnownHub): number {
    return (this.#unreadSinceMs.get(id) ?? 0) + PATIENCE_MS - this.#clock.monotonic();
  }

  #read(): void {
    const unread = this.#unread();
    // Each time another hub comes first, so that none takes up the turns of all.
    const first = this.#reads++ % Math.max(1, unread.length);
    const hasRead = [...unread.slice(first), ...unread.slice(0, first)].map((hub) => this.#readOf(hub)).includes(true);
    if (!hasRead) return;
    this.#hasNews = true;
    this.#definitions.soon();
    // To put many tools together takes as long as to read some: not with each turn, but at once when a hub is whole.
    if (this.#unread().length < unread.length) this.#toldMs = Number.NEGATIVE_INFINITY;
    if (this.#isDue()) this.#forget();
  }

  #isDue(): boolean {
    return this.#clock.monotonic() - this.#toldMs >= NOTIFY_MS;
  }

  /** True when something was read. */
  #readOf(hub: KnownHub): boolean {
    let hasRead = false;
    for (const { id, hash } of hub.tools) {
      if (!this.#canRead(hash)) continue;
      this.#definitions.get(hash, id, hub.id);
      if (!this.#definitions.isRead(hash)) break;
      hasRead = true;
    }
    return hasRead;
  }

  /** What is not whole is put together again. */
  #forget(): void {
    this.#all = undefined;
    this.#modelNames = undefined;
    for (const [id, { isPartial }] of this.#indexed) if (isPartial) this.#indexed.delete(id);
  }

  #tell(): void {
    this.#hasNews = false;
    this.#toldMs = this.#clock.monotonic();
    for (const listener of this.#listeners) listener();
  }

  #indexOf(hub: KnownHub): IndexedHub['index'] {
    const known = this.#indexed.get(hub.id);
    const devices = this.#deviceIdsOf(hub);
    if (known?.announced === hub.tools && known.devices === devices) return known.index;
    this.#read();
    const announced = hub.tools.flatMap((tool) => {
      const offered = this.#definitions.isRead(tool.hash) ? this.#definitions.get(tool.hash, tool.id, hub.id) : undefined;
      return offered ? [{ tool, offered }] : [];
    });
    const ids = new Set(hub.devices.map(({ id }) => id as string));
    const owned = announced.filter(({ offered }) => hub.hidesDevices === true || isOfOneOf(ids, offered.definition));
    const index = new HubToolIndex(owned.map(({ tool, offered }) => this.#toolOf(hub.id, tool, offered)));
    const isPartial = !hub.tools.every(({ hash }) => this.#definitions.isRead(hash));
    this.#indexed.set(hub.id, { announced: hub.tools, devices, isPartial, index });
    return index;
  }

  #deviceIdsOf({ devices }: KnownHub): string {
    const known = this.#deviceIds.get(devices) ?? devices.map(({ id }) => id).join('\n');
    this.#deviceIds.set(devices, known);
    return known;
  }

  #toolOf(hub: HubId, { id, hash }: AnnouncedTool, offered: OfferedTool): RegisteredTool {
    const { definition } = offered;
    const isOwnDevice = definition.metadata.device !== undefined;
    const key = isOwnDevice ? `${hash} ${id} ${hub}` : `${hash} ${id}`;
    const known = this.#tools.get(key);
    if (known) return known;
    const tool = isOwnDevice ? this.#deviceTool(hub, offered, id) : this.#sharedTool(definition, { id, hash });
    this.#tools.set(key, tool);
    this.#identities.set(tool, `${toolKey(tool)} ${isOwnDevice ? hub : hash}`);
    return tool;
  }

  #deviceTool(hub: HubId, offered: OfferedTool, id: string): RegisteredTool {
    const { device } = offered.definition.metadata;
    const here = () => this.#directory.hub(hub);
    return {
      id: id as ToolId,
      ...offered,
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
      .filter(({ hub }) => isAmongNodes(this.#directory.hub(hub), options.onlyNodes));
  }
}

function isAmongNodes(hub: KnownHub | undefined, onlyNodes: readonly string[] | undefined): boolean {
  return hub !== undefined && (onlyNodes?.some((node) => node === hub.id || node === hub.name) ?? true);
}

/** Names of a device belong to the hub that has it: a tool of a device that its hub does not announce is none of its tools. */
function isOfOneOf(devices: ReadonlySet<string>, { namespace, metadata: { device } }: ToolDefinition): boolean {
  return namespace !== DEVICES || device === undefined || devices.has(device);
}

/** A tool of the same namespace that belongs to no device does not share the name of one that does. */
function ofDevicesFirst(candidates: readonly Candidate[]): readonly Candidate[] {
  const isOfDevice = ({ tool: { definition } }: Candidate) => definition.namespace === DEVICES && definition.metadata.device !== undefined;
  if (!candidates.some(isOfDevice)) return candidates;
  return candidates.filter((candidate) => isOfDevice(candidate) || candidate.tool.definition.namespace !== DEVICES);
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

/**
 * The newest of several versions of one tool, each on another hub. Undefined for different tools: of devices, of agents, of other
 * namespaces, or of one version with different definitions.
 */
function newestOfOne(tools: readonly [RegisteredTool, ...RegisteredTool[]]): RegisteredTool | undefined {
  const [first] = tools;
  const isOne = ({ definition }: RegisteredTool) =>
    toolKey({ definition }) === toolKey(first) && definition.metadata.device === undefined && definition.metadata.createdBy !== 'agent';
  const versions = new Set(tools.map(({ definition }) => definition.version));
  if (!tools.every(isOne) || versions.size < tools.length) return undefined;
  const isStable = ({ definition }: RegisteredTool) => semver.prerelease(definition.version) === null;
  const sorted = tools.toSorted((a, b) => semver.rcompare(a.definition.version, b.definition.version));
  return sorted.find(isStable) ?? sorted[0];
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
