import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { RoutePeer } from '../../core/mesh/mesh-view.ts';
import { sha256Hex } from '../../wire/hashes.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { parseToolName, toolKey } from '../definition/tool-name.ts';
import { MODEL_NAME_LIMIT } from '../forms/model-name.ts';
import { filterTools, type ToolFilter, type ToolPage } from '../tool-filter.ts';
import type { ToolRegistry } from '../tool-registry.ts';
import { toolNotFound } from '../tool-suggestion.ts';
import { NamedHubs } from './named-hubs.ts';
import type { RemoteResolveOptions, RemoteTools } from './remote-tools.ts';

/** Which of the tools a list shows, and of which hub. */
export interface KnownToolFilter extends ToolFilter {
  /** Only tools that this hub (id or name) can run itself. */
  readonly node?: string;
}

interface KnownToolsCollaborators {
  readonly registry: ToolRegistry;
  /** This hub. */
  readonly self: { readonly id: string; readonly name: string };
  readonly remote: RemoteTools;
  readonly mesh: { peers(): readonly Pick<RoutePeer, 'id' | 'name' | 'isReachable'>[] };
}

const HASH_LENGTH = 6;

/**
 * The tools of this hub and of all others. A name means the hub's own tool wherever there is one: what other hubs announce
 * can neither make it ambiguous nor hide it, whatever version they have.
 */
export class KnownTools {
  readonly #registry: ToolRegistry;
  readonly #remote: RemoteTools;
  readonly #hubs: NamedHubs;
  #merged: {
    readonly own: readonly RegisteredTool[];
    readonly remote: readonly RegisteredTool[];
    readonly all: readonly RegisteredTool[];
  } = {
    own: [],
    remote: [],
    all: [],
  };

  constructor({ registry, self, remote, mesh }: KnownToolsCollaborators) {
    this.#registry = registry;
    this.#remote = remote;
    this.#hubs = new NamedHubs({ self, mesh });
  }

  /**
   * The tool that a name means, as `ToolRegistry.resolve`; of other hubs only where this one has none of the name, or where
   * `onlyNodes` leaves this one out. TOOL_NOT_FOUND, AMBIGUOUS_TOOL; for the hubs themselves VALIDATION_ERROR when one is named
   * that is several, NOT_FOUND and NODE_UNAVAILABLE; that also for a tool of a hub that stopped lately, and for what may be a tool of
   * a hub that is not wholly known: wait for `whole` first.
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

  /** The same where there is such a tool, else undefined: that a tool is missing is known long before what else may be meant. */
  find(name: string, options: RemoteResolveOptions = {}): RegisteredTool | undefined {
    const own = this.#mayRunHere(options.onlyNodes) ? this.#registry.find(name, options) : undefined;
    return own ?? this.#findRemote(name, options);
  }

  /**
   * Resolves when the tools of the other hubs are known, or after some seconds; undefined when they are, and for a name that this
   * hub itself has a tool of.
   */
  whole(name?: string, options: RemoteResolveOptions = {}): Promise<void> | undefined {
    const { onlyNodes } = options;
    if (onlyNodes?.every((node) => this.#hubs.isSelf(node))) return undefined;
    const isOwn = name !== undefined && this.#mayRunHere(onlyNodes) && this.#registry.find(name, options) !== undefined;
    return isOwn ? undefined : this.#remote.whole(onlyNodes);
  }

  /** A tool by its canonical id. */
  get(id: string): RegisteredTool | undefined {
    return this.#registry.get(id) ?? this.#remote.all().find((tool) => tool.id === id);
  }

  /** This hub's tools, and those of others that have no namesake here, in the order of their ids. */
  all(): readonly RegisteredTool[] {
    const own = this.#registry.all();
    const remote = this.#remote.all();
    if (remote.length === 0) return own;
    const isCurrent = this.#merged.own === own && this.#merged.remote === remote;
    if (!isCurrent)
      this.#merged = {
        own,
        remote,
        all: merged(
          own,
          remote.filter((tool) => !this.#registry.has(toolKey(tool))),
        ),
      };
    return this.#merged.all;
  }

  /** One page of tools in the order of their ids. VALIDATION_ERROR for a limit out of range or a name of several hubs, NOT_FOUND for a hub that is not known. */
  list(filter: KnownToolFilter = {}): ToolPage {
    return filterTools(this.of(filter.node), filter);
  }

  /** Every tool that a hub can run itself, all there are where none is named. Errors as `list`. */
  of(node: string | undefined): readonly RegisteredTool[] {
    return node === undefined ? this.all() : this.#allOf(node);
  }

  /** The name that models use for a tool; no tool of another hub gets one that a tool here has. */
  modelName(tool: RegisteredTool): string {
    if (!tool.hubs) return this.#registry.modelName(tool);
    const name = this.#remote.modelName(tool);
    return this.#registry.hasModelName(name) ? hashedName(name, tool) : name;
  }

  /** Hubs that can run a tool: those that have a tool of another hub, or, for one of this hub's, all that have the same id. */
  hubsOf(tool: RegisteredTool): readonly HubId[] {
    return tool.hubs?.() ?? this.#remote.hubsWith(tool.id);
  }

  /** False for a tool that nobody can call before the owner configures something: not here, and no other hub has it. */
  isReady(tool: RegisteredTool): boolean {
    return tool.missingSetting?.() === undefined || this.hubsOf(tool).length > 0;
  }

  #findRemote(name: string, options: RemoteResolveOptions): RegisteredTool | undefined {
    if (options.onlyNodes?.every((node) => this.#hubs.isSelf(node))) return undefined;
    const found = this.#remote.resolve(name, options);
    if (found || parseToolName(name)?.namespace !== undefined) return found;
    const hashed = this.all().find((tool) => tool.hubs && this.modelName(tool) === name);
    return hashed && this.#remote.resolve(hashed.id, options);
  }

  #refuseDeparted(name: string, options: RemoteResolveOptions): void {
    const hubs = this.#remote.departed(name, options);
    if (hubs.length === 0) return;
    const names = hubs.map((hub) => `${hub.name} (${hub.id})`).join(' and ');
    throw new AtmoError(
      'NODE_UNAVAILABLE',
      `${JSON.stringify(name.slice(0, 160))} is a tool of ${names}, which stopped; start it, then try again`,
      { hubs: hubs.map(({ id }) => id) },
    );
  }

  #refuseUnread(name: string, onlyNodes: readonly string[] | undefined): void {
    const hubs = this.#remote.unread(onlyNodes);
    if (hubs.length === 0 || onlyNodes?.every((node) => this.#hubs.isSelf(node))) return;
    const names = hubs.map((hub) => `${hub.name} (${hub.id})`).join(' and ');
    throw new AtmoError(
      'NODE_UNAVAILABLE',
      `${JSON.stringify(name.slice(0, 160))} is no tool that is known yet, and the tools of ${names} are still being read; try again in a few seconds`,
      { hubs: hubs.map(({ id }) => id) },
    );
  }

  #allOf(node: string): readonly RegisteredTool[] {
    this.#hubs.requireDistinct([node]);
    if (this.#hubs.isSelf(node)) return this.#registry.all();
    const hub = this.#hubs.peer(node);
    return this.#remote.all().filter((tool) => tool.hubs?.().includes(hub.id));
  }

  #mayRunHere(onlyNodes: readonly string[] | undefined): boolean {
    return onlyNodes?.some((node) => this.#hubs.isSelf(node)) ?? true;
  }
}

/** Both lists are in order already. */
function merged(own: readonly RegisteredTool[], remote: readonly RegisteredTool[]): readonly RegisteredTool[] {
  return [...own, ...remote].sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

function hashedName(name: string, tool: RegisteredTool): string {
  return `${name.slice(0, MODEL_NAME_LIMIT - HASH_LENGTH - 1)}_${sha256Hex(toolKey(tool)).slice(0, HASH_LENGTH)}`;
}
