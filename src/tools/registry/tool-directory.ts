import { sha256Hex } from '../../codec/hashes.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { RoutePeer } from '../../core/mesh-view.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { MODEL_NAME_LIMIT, parseToolName, toolKey } from '../definition/tool-names.ts';
import { filterTools, type ResolveOptions, type ToolFilter, type ToolPage, type ToolRegistry } from './tool-registry.ts';
import { toolNotFound } from './tool-suggestion.ts';

/** Conditions that select tools for a list. They can include the hub that has the tools. */
export interface ToolDirectoryFilter extends ToolFilter {
  /** Id or name of a hub. If set, only tools of the named hub match. */
  readonly node?: string;
}

interface ToolDirectoryParts extends HubNamesParts {
  readonly registry: ToolRegistry;
  readonly remote: RemoteTools;
}

const HASH_LENGTH = 6;

/** Finds tools of this hub and of other hubs by name. If this hub has a tool with a name, no other hub's tool can take over the name. */
export class ToolDirectory {
  readonly #parts: ToolDirectoryParts;
  readonly #hubs: HubNames;
  #merged: Readonly<Record<'own' | 'remote' | 'all', readonly RegisteredTool[]>> = { own: [], remote: [], all: [] };

  constructor(parts: ToolDirectoryParts) {
    this.#parts = parts;
    this.#hubs = new HubNames(parts);
  }

  /**
   * Returns the tool with a name. A tool of this hub takes precedence, unless `onlyNodes` excludes this hub. Wait for `awaitComplete`
   * first. Throws TOOL_NOT_FOUND, AMBIGUOUS_TOOL, VALIDATION_ERROR for an ambiguous hub name, NOT_FOUND for an unknown hub, and
   * NODE_UNAVAILABLE if no named hub is reachable, if the tool's hub stopped recently, or if tools are still loading.
   */
  resolve(name: string, options: RemoteResolveOptions = {}): RegisteredTool {
    const { onlyNodes } = options;
    if (onlyNodes) this.#hubs.requireDistinct(onlyNodes);
    const found = this.find(name, options);
    if (found) return found;
    if (onlyNodes) this.#hubs.requireReachable(onlyNodes);
    this.#refuseUnknown(name, options);
    const known = onlyNodes ? onlyNodes.flatMap((node) => this.#allOf(node)) : this.all();
    const listed = known.filter(options.isListed ?? options.isVisible ?? (() => true));
    throw toolNotFound(name, listed, onlyNodes);
  }

  /** Returns whether no tool has the name. Throws the errors of `resolve` but TOOL_NOT_FOUND, whose suggestions take long to find. */
  isFree(name: string): boolean {
    if (this.find(name)) return false;
    this.#refuseUnknown(name, {});
    return true;
  }

  /** Finds a tool like `resolve`, but returns undefined if no tool has the name. Throws AMBIGUOUS_TOOL if several tools match. */
  find(name: string, options: RemoteResolveOptions = {}): RegisteredTool | undefined {
    const own = this.#mayRunHere(options.onlyNodes) ? this.#parts.registry.find(name, options) : undefined;
    return own ?? this.#findRemote(name, options);
  }

  /** Waits until the tools of other hubs are loaded, but at most a few seconds. Returns undefined if no wait is needed. */
  awaitComplete(name?: string, options: RemoteResolveOptions = {}, searched: SearchedTools = {}): Promise<void> | undefined {
    const { onlyNodes } = options;
    if (onlyNodes?.every((node) => this.#hubs.isSelf(node))) return undefined;
    const isOwn = name !== undefined && this.#mayRunHere(onlyNodes) && this.#parts.registry.find(name, options) !== undefined;
    return isOwn ? undefined : this.#parts.remote.awaitComplete(onlyNodes, name === undefined ? searched : { name });
  }

  get(id: string): RegisteredTool | undefined {
    return this.#parts.registry.get(id) ?? this.#parts.remote.all().find((tool) => tool.id === id);
  }

  /** Returns all tools of this hub, and each tool of another hub unless this hub has a tool of the same name. Sorted by id. */
  all(): readonly RegisteredTool[] {
    const own = this.#parts.registry.all();
    const remote = this.#parts.remote.all();
    if (remote.length === 0) return own;
    const isCurrent = this.#merged.own === own && this.#merged.remote === remote;
    if (isCurrent) return this.#merged.all;
    const others = remote.filter((tool) => !this.#parts.registry.has(toolKey(tool)));
    const all = [...own, ...others].sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
    this.#merged = { own, remote, all };
    return all;
  }

  /** Returns a page of tools, sorted by id. Throws VALIDATION_ERROR for a bad limit or ambiguous hub name, NOT_FOUND for an unknown hub. */
  list(filter: ToolDirectoryFilter = {}): ToolPage {
    return filterTools(this.toolsOf(filter.node), filter);
  }

  /** Returns the tools of the hub `node`, or of all hubs if `node` is undefined. Throws the same errors for `node` as `list`. */
  toolsOf(node: string | undefined): readonly RegisteredTool[] {
    return node === undefined ? this.all() : this.#allOf(node);
  }

  /** Returns the name of a tool for models. A tool of another hub never gets the name of a tool of this hub. */
  modelName(tool: RegisteredTool): string {
    if (!tool.hubs) return this.#parts.registry.modelName(tool);
    const name = this.#parts.remote.modelName(tool);
    return this.#parts.registry.hasModelName(name) ? hashedName(name, tool) : name;
  }

  /** Returns the ids of other hubs that can run a tool. For a tool of this hub, these are the hubs with a tool of the same id. */
  hubsOf(tool: RegisteredTool): readonly HubId[] {
    return tool.hubs?.() ?? this.#parts.remote.hubsWith(tool.id);
  }

  /** Returns whether any hub can run the tool now. False if the tool lacks a setting on this hub and no other hub has the tool. */
  isReady(tool: RegisteredTool): boolean {
    return tool.missingSetting?.() === undefined || this.hubsOf(tool).length > 0;
  }

  #findRemote(name: string, options: RemoteResolveOptions): RegisteredTool | undefined {
    if (options.onlyNodes?.every((node) => this.#hubs.isSelf(node))) return undefined;
    const found = this.#parts.remote.resolve(name, options);
    if (found || parseToolName(name)?.namespace !== undefined) return found;
    const hashed = this.all().find((tool) => tool.hubs && this.modelName(tool) === name);
    return hashed && this.#parts.remote.resolve(hashed.id, options);
  }

  /** Throws NODE_UNAVAILABLE if a hub that stopped, or whose tools are still loading, may have a tool of the name. */
  #refuseUnknown(name: string, options: RemoteResolveOptions): void {
    this.#refuseDeparted(name, options);
    this.#refuseUnread(name, options.onlyNodes);
  }

  #refuseDeparted(name: string, options: RemoteResolveOptions): void {
    const hubs = this.#parts.remote.departedHubs(name, options);
    refuseBecauseOf(hubs, (names) => `${quotedName(name)} is a tool of ${names}, which stopped; start it, then try again`);
  }

  #refuseUnread(name: string, onlyNodes: readonly string[] | undefined): void {
    if (onlyNodes?.every((node) => this.#hubs.isSelf(node))) return;
    const hubs = this.#parts.remote.incompleteHubs(onlyNodes);
    refuseBecauseOf(
      hubs,
      (names) =>
        `${quotedName(name)} is no tool that is known yet, and the tools of ${names} are still being read; try again in a few seconds`,
    );
  }

  #allOf(node: string): readonly RegisteredTool[] {
    this.#hubs.requireDistinct([node]);
    if (this.#hubs.isSelf(node)) return this.#parts.registry.all();
    const hub = this.#hubs.peer(node);
    return this.#parts.remote.all().filter((tool) => tool.hubs?.().includes(hub.id));
  }

  #mayRunHere(onlyNodes: readonly string[] | undefined): boolean {
    return onlyNodes?.some((node) => this.#hubs.isSelf(node)) ?? true;
  }
}

/** Throws NODE_UNAVAILABLE with the names of `hubs`. Does nothing if `hubs` is empty. */
function refuseBecauseOf(hubs: readonly Pick<NamedHub, 'id' | 'name'>[], message: (names: string) => string): void {
  if (hubs.length === 0) return;
  const names = hubs.map((hub) => `${hub.name} (${hub.id})`).join(' and ');
  throw new AtmoError('NODE_UNAVAILABLE', message(names), { hubs: hubs.map(({ id }) => id) });
}

function quotedName(name: string): string {
  return JSON.stringify(name.slice(0, 160));
}

function hashedName(name: string, tool: RegisteredTool): string {
  return `${name.slice(0, MODEL_NAME_LIMIT - HASH_LENGTH - 1)}_${sha256Hex(toolKey(tool)).slice(0, HASH_LENGTH)}`;
}

/** Restricts the tools that a name can mean. `onlyNodes` restricts them to the tools of the given hubs. */
export interface RemoteResolveOptions extends ResolveOptions {
  /** Ids or names of the hubs whose tools are considered; default: all hubs. */
  readonly onlyNodes?: readonly string[];
}

/** What somebody looks for. If the mesh has sites, those that may have it are asked. */
export interface SearchedTools {
  /** Name of a tool. */
  readonly name?: string;
  /** Sentence of a search. */
  readonly sentence?: string;
  /** Type of a capability. */
  readonly capability?: string;
}

/**
 * Port: the tools of other hubs. `RegisteredTool.hubs` returns the hubs that can run a tool. If several hubs have tools of the same name,
 * these are one tool if their definitions are equal and they belong to no device. Otherwise they are different tools.
 */
export interface RemoteTools {
  /** Returns all tools of all present hubs, sorted by id. */
  all(): readonly RegisteredTool[];
  /**
   * Returns the tool, or undefined if no hub has it. Without `onlyNodes`, finds a tool of another site only if no hub of this site has the
   * name, had it before it stopped, or is still being read. Throws AMBIGUOUS_TOOL with ids and hubs if several different tools have the name.
   */
  resolve(name: string, options: RemoteResolveOptions): RegisteredTool | undefined;
  /** Returns the hubs that had the named tool and left recently. */
  departedHubs(name: string, options: RemoteResolveOptions): readonly { readonly id: HubId; readonly name: string }[];
  /** Returns the hubs whose tools are not loaded completely. A tool that was not found may be on one of them. */
  incompleteHubs(onlyNodes?: readonly string[]): readonly { readonly id: HubId; readonly name: string }[];
  /**
   * Waits until the sites that may have the searched tools have answered and `incompleteHubs` returns an empty list, but at most some
   * seconds. Returns undefined if there is nothing to wait for.
   */
  awaitComplete(onlyNodes?: readonly string[], searched?: SearchedTools): Promise<void> | undefined;
  modelName(tool: RegisteredTool): string;
  /** Returns the hubs of this hub's site that have a tool with this id, whether or not its definition is the same. */
  hubsWith(toolId: string): readonly HubId[];
  /** Calls the listener when tools of other hubs are added or removed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

type NamedHub = Pick<RoutePeer, 'id' | 'name' | 'isReachable'>;

interface HubNamesParts {
  /** Id and name of this hub. */
  readonly self: { readonly id: string; readonly name: string };
  readonly mesh: { peers(): readonly NamedHub[] };
}

/** Finds hubs by their id, or by their name if it is unique. */
class HubNames {
  readonly #parts: HubNamesParts;

  constructor(parts: HubNamesParts) {
    this.#parts = parts;
  }

  isSelf(node: string): boolean {
    return node === this.#parts.self.id || node === this.#parts.self.name;
  }

  /** Returns the other hub with this id or name. Throws NOT_FOUND if there is none. */
  peer(node: string): NamedHub {
    const peer = this.#parts.mesh.peers().find(({ id, name }) => id === node || name === node);
    if (!peer) throw unknownHub(node);
    return peer;
  }

  /** Throws VALIDATION_ERROR if several hubs have one of these names. This happens because all new boards have the same name. */
  requireDistinct(nodes: readonly string[]): void {
    for (const node of nodes) {
      // A call that another hub forwarded names this hub by its id. An id is unique, so the peers need not be searched.
      if (node === this.#parts.self.id) continue;
      const peers = this.#parts.mesh.peers();
      if (peers.some(({ id }) => id === node)) continue;
      const ids = [this.#parts.self, ...peers].filter(({ name }) => name === node).map(({ id }) => id);
      if (ids.length > 1) throw severalHubs(node, ids);
    }
  }

  /** Does nothing if this hub is named. Otherwise throws NOT_FOUND if a hub is unknown, NODE_UNAVAILABLE if none is reachable. */
  requireReachable(nodes: readonly string[]): void {
    if (nodes.some((node) => this.isSelf(node))) return;
    const peers = nodes.map((node) => this.peer(node));
    const [first] = peers;
    if (!first || peers.some(({ isReachable }) => isReachable)) return;
    throw new AtmoError('NODE_UNAVAILABLE', `${first.name} (${first.id}) cannot be reached; see that it runs, then try again`, {
      node_id: first.id,
    });
  }
}

function unknownHub(node: string): AtmoError {
  return new AtmoError('NOT_FOUND', `There is no hub ${JSON.stringify(node.slice(0, 80))} in the mesh; list the peers to see who is`);
}

function severalHubs(name: string, ids: readonly string[]): AtmoError {
  const message = `More than one hub is called ${JSON.stringify(name.slice(0, 80))}: ${ids.join(', ')}; name it by its id`;
  return new AtmoError('VALIDATION_ERROR', message, { hubs: [...ids] });
}
