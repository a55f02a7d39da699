import { sha256Hex } from '../../codec/hashes.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { RoutePeer } from '../../core/mesh-view.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { MODEL_NAME_LIMIT, parseToolName, toolKey } from '../definition/tool-names.ts';
import { filterTools, type ResolveOptions, type ToolFilter, type ToolPage, type ToolRegistry } from './tool-registry.ts';
import { toolNotFound } from './tool-suggestion.ts';

/** Conditions that select tools for a list, including a condition on the hub. */
export interface ToolDirectoryFilter extends ToolFilter {
  /** Id or name of a hub. Only tools that the named hub can run itself match. */
  readonly node?: string;
}

interface ToolDirectoryParts extends HubNamesParts {
  readonly registry: ToolRegistry;
  readonly remote: RemoteTools;
}

const HASH_LENGTH = 6;

/** Finds tools of this hub and of other hubs. The name of a tool of this hub always means that tool, whatever other hubs announce. */
export class ToolDirectory {
  readonly #parts: ToolDirectoryParts;
  readonly #hubs: HubNames;
  #merged: Readonly<Record<'own' | 'remote' | 'all', readonly RegisteredTool[]>> = { own: [], remote: [], all: [] };

  constructor(parts: ToolDirectoryParts) {
    this.#parts = parts;
    this.#hubs = new HubNames(parts);
  }

  /**
   * Returns the tool with a name, like `ToolRegistry.resolve`. Returns a tool of another hub only if this hub has no such tool or
   * `onlyNodes` excludes this hub. Throws TOOL_NOT_FOUND, AMBIGUOUS_TOOL, VALIDATION_ERROR (ambiguous hub name), NOT_FOUND (unknown hub),
   * or NODE_UNAVAILABLE if the tool's hub stopped recently or its tools are not loaded (wait for `awaitComplete` first).
   */
  resolve(name: string, options: RemoteResolveOptions = {}): RegisteredTool {
    const { onlyNodes } = options;
    if (onlyNodes) this.#hubs.requireDistinct(onlyNodes);
    const found = this.find(name, options);
    if (found) return found;
    if (onlyNodes) this.#hubs.requireReachable(onlyNodes);
    this.#refuseDeparted(name, options);
    this.#refuseUnread(name, onlyNodes);
    const known = onlyNodes ? onlyNodes.flatMap((node) => this.#allOf(node)) : this.all();
    const listed = known.filter(options.isListed ?? options.isVisible ?? (() => true));
    throw toolNotFound(name, listed, onlyNodes);
  }

  /** Returns the tool like `resolve`, but undefined instead of an error for an unknown name. */
  find(name: string, options: RemoteResolveOptions = {}): RegisteredTool | undefined {
    const own = this.#mayRunHere(options.onlyNodes) ? this.#parts.registry.find(name, options) : undefined;
    return own ?? this.#findRemote(name, options);
  }

  /** Waits until the tools of other hubs are loaded, but at most a few seconds. Returns undefined if no wait is needed. */
  awaitComplete(name?: string, options: RemoteResolveOptions = {}): Promise<void> | undefined {
    const { onlyNodes } = options;
    if (onlyNodes?.every((node) => this.#hubs.isSelf(node))) return undefined;
    const isOwn = name !== undefined && this.#mayRunHere(onlyNodes) && this.#parts.registry.find(name, options) !== undefined;
    return isOwn ? undefined : this.#parts.remote.awaitComplete(onlyNodes);
  }

  get(id: string): RegisteredTool | undefined {
    return this.#parts.registry.get(id) ?? this.#parts.remote.all().find((tool) => tool.id === id);
  }

  /** Returns the tools of this hub, and the tools of other hubs whose names this hub does not have, sorted by id. */
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

  /** Returns a page of tools, sorted by id. Throws VALIDATION_ERROR for an invalid limit or hub name, NOT_FOUND for an unknown hub. */
  list(filter: ToolDirectoryFilter = {}): ToolPage {
    return filterTools(this.toolsOf(filter.node), filter);
  }

  /** Returns all tools that a hub can run itself, or all tools if `node` is absent. Throws the same errors as `list`. */
  toolsOf(node: string | undefined): readonly RegisteredTool[] {
    return node === undefined ? this.all() : this.#allOf(node);
  }

  /** Returns the name of a tool for models. A tool of another hub never gets the name of a tool of this hub. */
  modelName(tool: RegisteredTool): string {
    if (!tool.hubs) return this.#parts.registry.modelName(tool);
    const name = this.#parts.remote.modelName(tool);
    return this.#parts.registry.hasModelName(name) ? hashedName(name, tool) : name;
  }

  /** Returns the ids of the hubs that can run a tool. For a tool of this hub, these are all hubs with a tool of the same id. */
  hubsOf(tool: RegisteredTool): readonly HubId[] {
    return tool.hubs?.() ?? this.#parts.remote.hubsWith(tool.id);
  }

  /** Returns whether any hub can run the tool now. False if this hub lacks a setting for it and no other hub has it. */
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

/** Throws NODE_UNAVAILABLE with the names of the hubs, unless the list is empty. */
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

/** Conditions on the tools that a name may mean, including the hubs that have them; default: all hubs. */
export interface RemoteResolveOptions extends ResolveOptions {
  /** Ids or names of the hubs whose tools are considered. */
  readonly onlyNodes?: readonly string[];
}

/**
 * Port: the tools of other hubs. `hubs` of a tool returns the hubs that can run it. Tools of the same name on several hubs count as one
 * tool only if their definitions are equal and the tools belong to no device.
 */
export interface RemoteTools {
  /** Returns all tools of all present hubs, sorted by id. */
  all(): readonly RegisteredTool[];
  /** Returns the tool, or undefined if no hub has it. Throws AMBIGUOUS_TOOL with ids and hubs if several different tools have the name. */
  resolve(name: string, options: RemoteResolveOptions): RegisteredTool | undefined;
  /** Returns the hubs that had the named tool and left recently. */
  departedHubs(name: string, options: RemoteResolveOptions): readonly { readonly id: HubId; readonly name: string }[];
  /** Returns the hubs whose tools are not loaded completely. A tool that was not found may be on one of them. */
  incompleteHubs(onlyNodes?: readonly string[]): readonly { readonly id: HubId; readonly name: string }[];
  /** Waits until `incompleteHubs` returns an empty list, but at most a few seconds. Returns undefined if the list is already empty. */
  awaitComplete(onlyNodes?: readonly string[]): Promise<void> | undefined;
  modelName(tool: RegisteredTool): string;
  /** Returns the hubs that have a tool with this id, even with another definition. */
  hubsWith(toolId: string): readonly HubId[];
  /** Returns the hubs that announced a device with this id or name. */
  hubsWithDevice(idOrName: string): readonly HubId[];
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

  /** Throws VALIDATION_ERROR if one of the names belongs to several hubs. New boards have the same name until a person changes it. */
  requireDistinct(nodes: readonly string[]): void {
    for (const node of nodes) {
      // A hub that forwards a call names this hub by its id, so this id needs no search.
      if (node === this.#parts.self.id) continue;
      const peers = this.#parts.mesh.peers();
      if (peers.some(({ id }) => id === node)) continue;
      const ids = [this.#parts.self, ...peers].filter(({ name }) => name === node).map(({ id }) => id);
      if (ids.length > 1) throw severalHubs(node, ids);
    }
  }

  /** Throws NOT_FOUND if a named hub is unknown, NODE_UNAVAILABLE if no named hub is reachable. Does not throw if this hub is named. */
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
