import type { HubId } from '../../core/ids.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { ResolveOptions } from '../tool-registry.ts';

/** Which hubs are meant; all when absent. */
export interface RemoteResolveOptions extends ResolveOptions {
  /** Ids or names of the only hubs to look at. */
  readonly onlyNodes?: readonly string[];
}

/**
 * Port: the tools of other hubs. Each has `hubs`, the hubs that can run it. Two hubs' tools of one name are one tool only
 * where the definitions are equal and it belongs to no device.
 */
export interface RemoteTools {
  /** Every tool of every hub that is not gone, in the order of their ids. */
  all(): readonly RegisteredTool[];
  /** Undefined when no hub has it; AMBIGUOUS_TOOL lists id and hub of each when different tools have the name. */
  resolve(name: string, options: RemoteResolveOptions): RegisteredTool | undefined;
  /** Hubs that were here lately and had the tool that a name means. */
  departed(name: string, options: RemoteResolveOptions): readonly { readonly id: HubId; readonly name: string }[];
  /** Hubs of which not all tools are known yet: what is not found may be theirs. */
  unread(onlyNodes?: readonly string[]): readonly { readonly id: HubId; readonly name: string }[];
  /** Resolves when `unread` is empty, which it is after some seconds at the latest; undefined where it is now. */
  whole(onlyNodes?: readonly string[]): Promise<void> | undefined;
  /** Name of a tool that models use. */
  modelName(tool: RegisteredTool): string;
  /** Hubs that have a tool of this id, whatever its definition. */
  hubsWith(toolId: string): readonly HubId[];
  /** Hubs that announce a device of this id or name. */
  hubsWithDevice(idOrName: string): readonly HubId[];
  /** Hears that tools came or went. The answer stops it. */
  onChange(listener: () => void): () => void;
}
