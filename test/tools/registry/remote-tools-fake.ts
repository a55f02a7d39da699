import type { CallPeer } from '../../../src/calls/pipeline-context.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { HubId } from '../../../src/core/ids.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { parseToolName, toolKey } from '../../../src/tools/definition/tool-names.ts';
import type { RemoteResolveOptions, RemoteTools } from '../../../src/tools/registry/tool-directory.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

/** A tool that only these hubs have. */
export function toolOf(hubs: readonly string[], input: Parameters<typeof makeTool>[0] = {}): RegisteredTool {
  const handler = () => Promise.reject(new Error('the handler of a tool of another hub was called'));
  return { ...makeTool({ ...input, handler }), hubs: () => hubs as readonly HubId[] };
}

/** A directly connected hub. */
export function makePeer(id: string, extra: Partial<CallPeer> = {}): CallPeer {
  return { id: id as HubId, name: id, isReachable: true, hops: 1, capabilities: [], ...extra };
}

/** Tools of other hubs as a test lists them; `elsewhere` are ids of own tools that other hubs have too. */
export class RemoteToolsFake implements RemoteTools {
  readonly tools: RegisteredTool[];
  readonly #elsewhere: Readonly<Record<string, readonly string[]>>;

  constructor(tools: readonly RegisteredTool[], elsewhere: Readonly<Record<string, readonly string[]>> = {}) {
    this.tools = [...tools];
    this.#elsewhere = elsewhere;
  }

  all(): readonly RegisteredTool[] {
    return this.tools;
  }

  resolve(name: string, { onlyNodes, versionRange, isVisible = () => true }: RemoteResolveOptions): RegisteredTool | undefined {
    const reference = parseToolName(name);
    const matches = this.tools.filter((tool) => {
      const isNamed = [tool.id, toolKey(tool), this.modelName(tool)].includes(name) || tool.definition.name === reference?.name;
      const isOfNamespace = reference?.namespace === undefined || reference.namespace === tool.definition.namespace;
      const isThere = onlyNodes === undefined || (tool.hubs?.().some((hub) => onlyNodes.includes(hub)) ?? false);
      const isWanted = versionRange === undefined || versionRange.includes(tool.definition.version);
      return isNamed && isOfNamespace && isThere && isWanted && isVisible(tool);
    });
    if (matches.length > 1) throw new AtmoError('AMBIGUOUS_TOOL', `${name} fits several`, { candidates: matches.map(({ id }) => id) });
    return matches[0];
  }

  departedHubs(_name: string, _options: RemoteResolveOptions): ReturnType<RemoteTools['departedHubs']> {
    return [];
  }

  incompleteHubs(): readonly never[] {
    return [];
  }

  awaitComplete(): undefined {
    return undefined;
  }

  modelName(tool: RegisteredTool): string {
    return tool.definition.name;
  }

  hubsWith(toolId: string): readonly HubId[] {
    const own = this.tools.filter(({ id }) => id === toolId).flatMap((tool) => tool.hubs?.() ?? []);
    return [...own, ...((this.#elsewhere[toolId] ?? []) as readonly HubId[])];
  }

  onChange(): () => void {
    return () => {};
  }
}
