import { sha256Hex } from '../../codec/hashes.ts';
import type { AnnouncedTool } from '../../codec/messages/announced-state.ts';
import type { Clock } from '../../core/clock.ts';
import { compareText } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId, ToolId } from '../../core/ids.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import type { RegisteredTool, ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { toolKey } from '../../tools/definition/tool-names.ts';
import type { RemoteResolveOptions, RemoteTools, SearchedTools } from '../../tools/registry/tool-directory.ts';
import { wordOfName, wordsOfSentence } from '../sites/site-words.ts';
import type { DefinitionStore, OfferedTool } from './definition-store.ts';
import { HubToolIndex } from './hub-tool-index.ts';
import { type HubDirectory, isPresent, type KnownHub, type OtherSites } from './known-hub.ts';
import { ambiguous, areVersionsOfOne, type Candidate, newestOfOne, ofAnotherSite, ofDevicesFirst } from './tool-candidates.ts';

interface CatalogueCollaborators {
  readonly directory: HubDirectory;
  readonly definitions: DefinitionStore;
  readonly clock: Clock;
  /** Sites of the mesh; undefined if this hub has no site. */
  readonly sites?: Pick<OtherSites, 'siteOf' | 'look'> | undefined;
}

interface IndexedHub {
  /** Announced tools at the time of indexing. */
  readonly announced: readonly AnnouncedTool[];
  /** Ids of the hub's devices at the time of indexing, one id per line. */
  readonly devices: string;
  /** Whether the hub was of another site at the time of indexing. */
  readonly isElsewhere: boolean;
  /** True if some definitions were still unread at the time of indexing. */
  readonly isPartial: boolean;
  readonly index: HubToolIndex;
}

/** Maximum time, in milliseconds, that callers wait for announced definitions, which may never arrive. */
const PATIENCE_MS = 10_000;
/** Milliseconds between change events while the definitions of a large hub are read. */
const NOTIFY_MS = 500;
const MODEL_NAME_STEM = 33;
const DEVICES = 'matter';
const DISTINCT_NAME = /_[0-9a-f]{6}$/;

/**
 * Finds the tools of other hubs. Resolves a name on each hub separately and then merges equal tools, so that a tool of one hub does not
 * change what a name means on another hub. Definitions are read in turns after they arrive; `awaitComplete` waits for all of them.
 */
export class MeshCatalogue implements RemoteTools {
  readonly #parts: CatalogueCollaborators;
  readonly #listeners = new Set<() => void>();
  readonly #indexed = new Map<HubId, IndexedHub>();
  /** Tools by the key under which equal tools are merged. A tool stays while any hub has it, so that all callers get the same object. */
  readonly #tools = new Map<string, RegisteredTool>();
  /** For each tool, a text that identifies the tool. `#distinctName` hashes this text to make a suffix. */
  readonly #identities = new WeakMap<RegisteredTool, string>();
  /** Tools of hubs of other sites. Such a tool never is one with an equal tool of this site, so that no call for this site runs elsewhere. */
  readonly #toolsElsewhere = new WeakSet<RegisteredTool>();
  /** Tool lists whose definitions were all read. */
  readonly #readLists = new WeakSet<KnownHub['tools']>();
  /** Hubs with unread definitions. The value is the time at which the hub was added to this map, by the monotonic clock. */
  readonly #unreadSinceMs = new Map<HubId, number>();
  /** True if definitions were read since the last change event. */
  #hasNews = false;
  #emittedMs = Number.NEGATIVE_INFINITY;
  #reads = 0;
  #all: readonly RegisteredTool[] | undefined;
  #modelNames: ReadonlyMap<RegisteredTool, string> | undefined;

  constructor(parts: CatalogueCollaborators) {
    this.#parts = parts;
    parts.directory.onChange(() => this.refresh());
  }

  /** Schedules the reading of new definitions and emits a change event. Called when announcements or definitions have arrived. */
  refresh(): void {
    this.#invalidate();
    if (this.#unread().length > 0) this.#parts.definitions.soon();
    this.#emit();
  }

  /** Reads the definitions of one turn. Emits a change event when no definition is left to read, and every half second before that. */
  readSome(): void {
    this.#read();
    const isOver = !this.#unread().some(({ tools }) => tools.some(({ hash }) => this.#canRead(hash)));
    if (!this.#hasNews || !(isOver || this.#isDue())) return;
    this.#invalidate();
    this.#emit();
  }

  incompleteHubs(onlyNodes?: readonly string[]): readonly Pick<KnownHub, 'id' | 'name'>[] {
    const sinceMs = this.#parts.clock.monotonic() - PATIENCE_MS;
    return this.#unread()
      .filter((hub) => isAmongNodes(hub, onlyNodes) && (this.#unreadSinceMs.get(hub.id) ?? 0) > sinceMs)
      .map(({ id, name }) => ({ id, name }));
  }

  awaitComplete(onlyNodes?: readonly string[], searched: SearchedTools = {}): Promise<void> | undefined {
    const looked = this.#lookElsewhere(onlyNodes, searched);
    return looked ? looked.then(() => this.#awaitRead(onlyNodes)) : this.#awaitRead(onlyNodes);
  }

  /** Looks in other sites for hubs and tools that are not known here. Returns undefined if no other site may have them. */
  #lookElsewhere(onlyNodes: readonly string[] | undefined, { name, sentence, capability }: SearchedTools): Promise<void> | undefined {
    const { sites, directory } = this.#parts;
    if (!sites) return undefined;
    const unknown = onlyNodes?.filter((node) => !directory.hubs().some((hub) => isAmongNodes(hub, [node]))) ?? [];
    const isForeign = onlyNodes === undefined && name !== undefined && !this.#isKnown(name);
    const looks = [
      ...unknown.map((node) => sites.look([wordOfName(node)], 'all')),
      isForeign && sites.look([wordOfName(withoutSuffix(name))], 'all'),
      capability !== undefined && sites.look([wordOfName(capability)], 'all'),
      sentence !== undefined && sites.look(wordsOfSentence(sentence), 'most'),
    ].filter((look) => look instanceof Promise);
    return looks.length > 0 ? Promise.all(looks).then(() => undefined) : undefined;
  }

  /** Returns whether a present hub has the named tool, or a hub of this site that has stopped had it. */
  #isKnown(name: string): boolean {
    const hubs = this.#parts.directory.hubs().filter((hub) => isPresent(hub) || !this.#isElsewhere(hub));
    return hubs.some((hub) => this.#indexOf(hub).find(name, {}).length > 0);
  }

  /** Returns whether a lookup has found the hub in another site. */
  #isElsewhere({ id }: Pick<KnownHub, 'id'>): boolean {
    return this.#parts.sites?.siteOf(id) !== undefined;
  }

  #awaitRead(onlyNodes: readonly string[] | undefined): Promise<void> | undefined {
    if (this.incompleteHubs(onlyNodes).length > 0) this.#read();
    if (this.incompleteHubs(onlyNodes).length === 0) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.onChange(() => {
      if (this.incompleteHubs(onlyNodes).length === 0) resolve();
    });
    const cancel = this.#parts.clock.after(PATIENCE_MS, resolve);
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
    const find = (some: readonly KnownHub[]) =>
      some.flatMap((hub) =>
        this.#indexOf(hub)
          .find(name, options)
          .map((tool) => ({ tool, hub: hub.id })),
      );
    // A name means the tool of this site, also while the hub that had it is gone. A tool of another site does not make it ambiguous.
    const here = find(hubs.filter((hub) => !this.#isElsewhere(hub)));
    const isOfThisSite = here.length > 0 || this.#mayReturnHere(name, options);
    const candidates = isOfThisSite ? here : find(hubs.filter((hub) => this.#isElsewhere(hub)));
    const found = candidates.length > 0 ? ofDevicesFirst(candidates) : this.#findByDistinctName(name, options);
    if (candidates.length > 0 && options.onlyNodes === undefined) this.#requireNamedHub(name, found);
    const [first, ...others] = new Set(found.map(({ tool }) => tool));
    if (first === undefined || others.length === 0) return first;
    const newest = newestOfOne([first, ...others]);
    if (newest === undefined) throw ambiguous(name, found);
    return newest;
  }

  /**
   * Throws AMBIGUOUS_TOOL if a name alone selects a tool of another site that has side effects. The name may mean a hub of this site that
   * this hub has not heard yet, or has forgotten.
   */
  #requireNamedHub(name: string, found: readonly Candidate[]): void {
    const acting = found.filter(({ tool }) => this.#actsElsewhere(tool));
    if (acting.length > 0) throw ofAnotherSite(name, acting);
  }

  #actsElsewhere(tool: RegisteredTool): boolean {
    return this.#toolsElsewhere.has(tool) && tool.definition.execution.hasSideEffects;
  }

  /** Among the hubs in state `left` or `gone`, returns those whose last known tools include one that `name` selects. */
  departedHubs(name: string, options: RemoteResolveOptions): readonly Pick<KnownHub, 'id' | 'name'>[] {
    const hubs = this.#parts.directory.hubs().filter((hub) => !isPresent(hub) && isAmongNodes(hub, options.onlyNodes));
    return hubs.filter((hub) => this.#indexOf(hub).find(name, options).length > 0).map(({ id, name: shown }) => ({ id, name: shown }));
  }

  /**
   * Returns whether a hub of this site that has stopped had the named tool, or is still being read and may have it. A caller who names hubs
   * means their tools and waits for no others.
   */
  #mayReturnHere(name: string, options: RemoteResolveOptions): boolean {
    if (options.onlyNodes) return false;
    return [...this.incompleteHubs(), ...this.departedHubs(name, options)].some((hub) => !this.#isElsewhere(hub));
  }

  modelName(tool: RegisteredTool): string {
    this.#modelNames ??= this.#nameAll();
    return this.#modelNames.get(tool) ?? this.#distinctName(tool);
  }

  hubsWith(toolId: string): readonly HubId[] {
    const hubs = this.#presentHubs().filter((hub) => !this.#isElsewhere(hub) && hub.tools.some(({ id }) => id === toolId));
    return hubs.map(({ id }) => id);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #presentHubs(): readonly KnownHub[] {
    return this.#parts.directory.hubs().filter(isPresent);
  }

  #collect(): readonly RegisteredTool[] {
    const hubs = this.#presentHubs();
    const tools = new Set(hubs.flatMap((hub) => this.#indexOf(hub).tools));
    const present = new Set(hubs.map(({ id }) => id));
    for (const id of this.#indexed.keys()) if (!present.has(id)) this.#indexed.delete(id);
    for (const [key, tool] of this.#tools) if (!tools.has(tool)) this.#tools.delete(key);
    const isElsewhere = (tool: RegisteredTool) => Number(this.#toolsElsewhere.has(tool));
    return [...tools].sort((a, b) => compareText(a.id, b.id) || isElsewhere(a) - isElsewhere(b) || compareText(hubsOf(a), hubsOf(b)));
  }

  /** Returns the hubs with unread definitions. A hub in state `left` or `gone` counts only if it has definitions that can be read now. */
  #unread(): readonly KnownHub[] {
    const unread = this.#parts.directory.hubs().filter((hub) => !this.#isWhole(hub));
    const ids = new Set(unread.map(({ id }) => id));
    for (const id of this.#unreadSinceMs.keys()) if (!ids.has(id)) this.#unreadSinceMs.delete(id);
    for (const id of ids) if (!this.#unreadSinceMs.has(id)) this.#unreadSinceMs.set(id, this.#parts.clock.monotonic());
    return unread;
  }

  #isWhole(hub: KnownHub): boolean {
    const { tools } = hub;
    if (isPresent(hub) && hub.lacksPages) return false;
    if (this.#readLists.has(tools)) return true;
    if (!tools.every(({ hash }) => this.#parts.definitions.isRead(hash))) {
      return !isPresent(hub) && !tools.some(({ hash }) => this.#canRead(hash));
    }
    this.#readLists.add(tools);
    return true;
  }

  #canRead(hash: string): boolean {
    return !this.#parts.definitions.isRead(hash) && this.#parts.definitions.isHere(hash);
  }

  #read(): void {
    const unread = this.#unread();
    // Each call begins with a different hub, so that one hub cannot use up the limits of every turn.
    const first = this.#reads++ % Math.max(1, unread.length);
    const hasRead = [...unread.slice(first), ...unread.slice(0, first)].map((hub) => this.#readOf(hub)).includes(true);
    if (!hasRead) return;
    this.#hasNews = true;
    this.#parts.definitions.soon();
    // Collecting the tools again is slow. It is done when a hub has become complete, and otherwise at most every NOTIFY_MS.
    if (this.#unread().length < unread.length) this.#emittedMs = Number.NEGATIVE_INFINITY;
    if (this.#isDue()) this.#invalidate();
  }

  #isDue(): boolean {
    return this.#parts.clock.monotonic() - this.#emittedMs >= NOTIFY_MS;
  }

  /** Reads definitions of a hub; returns whether at least one was read. */
  #readOf(hub: KnownHub): boolean {
    const { definitions } = this.#parts;
    let hasRead = false;
    for (const { id, hash } of hub.tools) {
      if (!this.#canRead(hash)) continue;
      definitions.get(hash, id, hub.id);
      if (!definitions.isRead(hash)) break;
      hasRead = true;
    }
    return hasRead;
  }

  /** Discards the collected tools and the incomplete indexes. */
  #invalidate(): void {
    this.#all = undefined;
    this.#modelNames = undefined;
    for (const [id, { isPartial }] of this.#indexed) if (isPartial) this.#indexed.delete(id);
  }

  #emit(): void {
    this.#hasNews = false;
    this.#emittedMs = this.#parts.clock.monotonic();
    for (const listener of this.#listeners) listener();
  }

  #indexOf(hub: KnownHub): IndexedHub['index'] {
    const known = this.#indexed.get(hub.id);
    const devices = deviceIdsOf(hub.devices);
    const isElsewhere = this.#isElsewhere(hub);
    if (known?.announced === hub.tools && known.devices === devices && known.isElsewhere === isElsewhere) return known.index;
    this.#read();
    const { definitions } = this.#parts;
    const announced = hub.tools.flatMap((tool) => {
      const offered = definitions.isRead(tool.hash) ? definitions.get(tool.hash, tool.id, hub.id) : undefined;
      return offered ? [{ tool, offered }] : [];
    });
    const ids = new Set(hub.devices.map(({ id }) => id as string));
    const owned = announced.filter(({ offered }) => hub.hidesDevices === true || isOfOneOf(ids, offered.definition));
    const index = new HubToolIndex(owned.map(({ tool, offered }) => this.#toolOf(hub, tool, offered)));
    const isPartial = !hub.tools.every(({ hash }) => definitions.isRead(hash));
    this.#indexed.set(hub.id, { announced: hub.tools, devices, isElsewhere, isPartial, index });
    return index;
  }

  #toolOf(hub: KnownHub, { id, hash }: AnnouncedTool, offered: OfferedTool): RegisteredTool {
    const { definition } = offered;
    const isOwnDevice = definition.metadata.device !== undefined;
    const isElsewhere = this.#isElsewhere(hub);
    const owner = `${isOwnDevice ? hub.id : hash}${isElsewhere ? ' elsewhere' : ''}`;
    const key = `${hash} ${id} ${owner}`;
    const known = this.#tools.get(key);
    if (known) return known;
    const tool = isOwnDevice ? this.#deviceTool(hub.id, offered, id) : this.#sharedTool(definition, { id, hash }, isElsewhere);
    this.#tools.set(key, tool);
    this.#identities.set(tool, `${toolKey(tool)} ${owner}`);
    if (isElsewhere) this.#toolsElsewhere.add(tool);
    return tool;
  }

  #deviceTool(hub: HubId, offered: OfferedTool, id: string): RegisteredTool {
    const { device } = offered.definition.metadata;
    const here = () => this.#parts.directory.hub(hub);
    return {
      id: id as ToolId,
      ...offered,
      handler: handlerElsewhere(id),
      hubs: () => (isPresent(here() ?? { state: 'gone' }) ? [hub] : []),
      isAvailable: () => here()?.devices.find((other) => other.id === device)?.isReachable ?? true,
    };
  }

  /** Makes the tool of all hubs of this site that have it, or of all hubs of other sites. */
  #sharedTool(definition: ToolDefinition, announced: AnnouncedTool, isElsewhere: boolean): RegisteredTool {
    const offers = (hub: KnownHub) =>
      this.#isElsewhere(hub) === isElsewhere && hub.tools.some(({ id, hash }) => id === announced.id && hash === announced.hash);
    return {
      id: announced.id as ToolId,
      definition,
      handler: handlerElsewhere(announced.id),
      hubs: () =>
        this.#presentHubs()
          .filter(offers)
          .map(({ id }) => id),
    };
  }

  /**
   * Returns the model name of every tool. If different tools share a plain name, each gets a name that depends only on the tool. A tool of another
   * site takes no plain name from tools of this site, and has none if it has side effects.
   */
  #nameAll(): ReadonlyMap<RegisteredTool, string> {
    const namesakes = Map.groupBy(this.all(), (tool) => this.#plainName(tool));
    const names = new Map<RegisteredTool, string>();
    for (const [plain, tools] of namesakes) {
      const here = tools.filter((tool) => !this.#toolsElsewhere.has(tool));
      const isPlainHere = areVersionsOfOne(here);
      const isPlainElsewhere = here.length === 0 && areVersionsOfOne(tools);
      for (const tool of tools) {
        const isPlain = this.#toolsElsewhere.has(tool) ? isPlainElsewhere && !this.#actsElsewhere(tool) : isPlainHere;
        names.set(tool, isPlain ? plain : this.#distinctName(tool));
      }
    }
    return names;
  }

  /** Returns a distinct name. Like every name for models, it has at most 40 characters. */
  #distinctName(tool: RegisteredTool): string {
    const suffix = sha256Hex(this.#identities.get(tool) ?? tool.id).slice(0, 6);
    return `${this.#plainName(tool).slice(0, MODEL_NAME_STEM)}_${suffix}`;
  }

  /** Returns a tool's model name from the first of the tool's hubs whose index has one. If there is none, returns the tool's own name. */
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
      .filter(({ hub }) => isAmongNodes(this.#parts.directory.hub(hub), options.onlyNodes));
  }
}

/** Returns the name without the suffix that distinguishes tools of equal names for models. */
function withoutSuffix(name: string): string {
  return name.replace(DISTINCT_NAME, '');
}

const deviceIdsOf = oncePerObject((devices: KnownHub['devices']): string => devices.map(({ id }) => id).join('\n'));

function isAmongNodes(hub: KnownHub | undefined, onlyNodes: readonly string[] | undefined): boolean {
  return hub !== undefined && (onlyNodes?.some((node) => node === hub.id || node === hub.name) ?? true);
}

/** Returns whether a hub with these devices may offer the tool. To offer a device's tool, a hub must announce the device. */
function isOfOneOf(devices: ReadonlySet<string>, { namespace, metadata: { device } }: ToolDefinition): boolean {
  return namespace !== DEVICES || device === undefined || devices.has(device);
}

function hubsOf(tool: RegisteredTool): string {
  return (tool.hubs?.() ?? []).join(' ');
}

function handlerElsewhere(id: string): RegisteredTool['handler'] {
  return async () => {
    throw new AtmoError('NODE_UNAVAILABLE', `The tool ${id} belongs to another hub and cannot run here; send the call there`);
  };
}
