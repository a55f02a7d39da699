import semver from 'semver';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toolKey } from '../../tools/definition/tool-names.ts';

/** A tool that a name selects, and a hub that has the tool. */
export interface Candidate {
  readonly tool: RegisteredTool;
  readonly hub: HubId;
}

const DEVICES = 'matter';
const NAME_A_HUB = 'only_nodes, at the command line --hub';

/** If a candidate is a device's tool, leaves out all tools in the device namespace that belong to no device. */
export function ofDevicesFirst(candidates: readonly Candidate[]): readonly Candidate[] {
  const isOfDevice = ({ tool: { definition } }: Candidate) => definition.namespace === DEVICES && definition.metadata.device !== undefined;
  if (!candidates.some(isOfDevice)) return candidates;
  return candidates.filter((candidate) => isOfDevice(candidate) || candidate.tool.definition.namespace !== DEVICES);
}

/** Returns whether all tools are versions of one tool, and one hub has all of them. Such versions share one model name. */
export function areVersionsOfOne(tools: readonly RegisteredTool[]): boolean {
  const [first, ...others] = tools;
  if (!first) return true;
  const hubs = others.map((tool) => new Set(tool.hubs?.()));
  const isOnAll = (first.hubs?.() ?? []).some((hub) => hubs.every((own) => own.has(hub)));
  return others.length === 0 || (isOnAll && others.every((tool) => toolKey(tool) === toolKey(first)));
}

/**
 * If all tools are versions of one tool, returns the newest stable version, or else the newest version. Returns undefined if two tools
 * differ in `namespace:name` or have the same version, or if a tool belongs to a device or was created by an agent.
 */
export function newestOfOne(tools: readonly [RegisteredTool, ...RegisteredTool[]]): RegisteredTool | undefined {
  const [first] = tools;
  const isOne = ({ definition }: RegisteredTool) =>
    toolKey({ definition }) === toolKey(first) && definition.metadata.device === undefined && definition.metadata.createdBy !== 'agent';
  const versions = new Set(tools.map(({ definition }) => definition.version));
  if (!tools.every(isOne) || versions.size < tools.length) return undefined;
  const isStable = ({ definition }: RegisteredTool) => semver.prerelease(definition.version) === null;
  const sorted = tools.toSorted((a, b) => semver.rcompare(a.definition.version, b.definition.version));
  return sorted.find(isStable) ?? sorted[0];
}

/** Returns AMBIGUOUS_TOOL for a name that selects several different tools. */
export function ambiguous(name: string, candidates: readonly Candidate[]): AtmoError {
  return ambiguousTool(candidates, (list) => `${shownName(name)} fits ${list}; write the whole id, or name the hub: ${NAME_A_HUB}`);
}

/** Returns AMBIGUOUS_TOOL for a name that only hubs of other sites have, whose tools have side effects. */
export function ofAnotherSite(name: string, candidates: readonly Candidate[]): AtmoError {
  return ambiguousTool(
    candidates,
    (list) => `Of this site, no hub has ${shownName(name)}; another site has ${list}. If you mean that one, name the hub: ${NAME_A_HUB}`,
  );
}

function ambiguousTool(candidates: readonly Candidate[], message: (list: string) => string): AtmoError {
  const list = candidates.map(({ tool, hub }) => ({ id: tool.id as string, node: hub as string }));
  const shown = list.slice(0, 8).map(({ id, node }) => `${id} on ${node}`);
  return new AtmoError('AMBIGUOUS_TOOL', message(shown.join(', ')), { candidates: list });
}

const shownName = (name: string): string => JSON.stringify(name.slice(0, 160));
