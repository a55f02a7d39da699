import { compareText } from '../../core/edit-distance.ts';
import type { CapabilityConstraints } from '../../core/mesh-view.ts';
import type { ToolDefinition } from '../../tools/definition/tool-definition.ts';
import type { RoutingPreferences } from '../request-and-answer.ts';

/** A hub that might run a call. */
export interface RouteCandidate {
  readonly id: string;
  readonly name: string;
  readonly isLocal: boolean;
  readonly isReachable: boolean;
  readonly isOnline: boolean;
  readonly hops: number;
  readonly roundTripMs: number;
  readonly capabilities: readonly string[];
  /** Bounds of calls that need a capability, by its type. */
  readonly constraints?: ReadonlyMap<string, CapabilityConstraints>;
}

/** The same within the limits of the caller's token. */
export interface RouteConstraints extends RoutingPreferences {
  /** Ids of the only hubs that may act for the caller; all when absent. */
  readonly allowed_nodes?: readonly string[];
  /** What the call itself needs of a hub. */
  readonly needs?: CallNeeds;
}

/** What the parameters of a call need of the hub that runs it, beyond the needs of its tool. */
export interface CallNeeds {
  /** Name of the model in the parameters. */
  readonly model?: string;
  /** Bytes of the picture that the call carries. */
  readonly imageBytes?: number;
}

/** A hub that cannot take the call, and why. */
export interface RouteRefusal {
  readonly node_id: string;
  readonly reason: string;
}

/** The hubs in the order in which to try them, and those that cannot run the call. */
export interface Route {
  /** Best first. */
  readonly ranked: readonly RouteCandidate[];
  readonly refused: readonly RouteRefusal[];
}

/** Reasons that pass. */
export const NOT_REACHABLE = 'is not reachable';
export const NO_NETWORK = 'has no network';

const BYTES_PER_MB = 1_048_576;
const HOP_FACTOR = 0.95;
const LOCAL_FACTOR = 1.2;
const PREFERENCE_FACTOR = 1.1;

/** Returns the hubs that can run a tool, best score first; ties by latency, then id. */
export function rankRoute(definition: ToolDefinition, constraints: RouteConstraints, candidates: readonly RouteCandidate[]): Route {
  const ranked: RouteCandidate[] = [];
  const refused: RouteRefusal[] = [];
  for (const candidate of candidates) {
    const reason = obstacle(definition, constraints, candidate);
    if (reason === undefined) ranked.push(candidate);
    else refused.push({ node_id: candidate.id, reason });
  }
  const score = (candidate: RouteCandidate) => routeScore(definition, constraints, candidate);
  ranked.sort((a, b) => score(b) - score(a) || a.roundTripMs - b.roundTripMs || compareText(a.id, b.id));
  return { ranked, refused };
}

/** 0.95 per hop, times 1.2 here when the tool prefers that, 1.1 for preferred hubs, 1.1 for a GPU that the tool prefers. */
export function routeScore(definition: ToolDefinition, constraints: RoutingPreferences, candidate: RouteCandidate): number {
  const prefersGpu = definition.routing.preferGpu || definition.requires.gpuPreferred;
  const local = definition.routing.preferLocal && candidate.isLocal ? LOCAL_FACTOR : 1;
  const preferred = isNamed(candidate, constraints.prefer_nodes ?? []) ? PREFERENCE_FACTOR : 1;
  const gpu = prefersGpu && candidate.capabilities.includes('gpu') ? PREFERENCE_FACTOR : 1;
  return HOP_FACTOR ** candidate.hops * local * preferred * gpu;
}

function obstacle(definition: ToolDefinition, constraints: RouteConstraints, candidate: RouteCandidate): string | undefined {
  const { requires, routing } = definition;
  const missing = requires.capabilities.filter((capability) => !candidate.capabilities.includes(capability));
  if (!candidate.isReachable) return NOT_REACHABLE;
  if (constraints.allowed_nodes?.includes(candidate.id) === false) return 'is not among the hubs that the token allows';
  if (isNamed(candidate, constraints.exclude_nodes ?? [])) return 'is excluded by the request';
  if (constraints.only_nodes && !isNamed(candidate, constraints.only_nodes)) return 'is not among the hubs that the request names';
  if (missing.length > 0) return `lacks ${missing.join(', ')}`;
  const tooSmall = constraintBroken(requires.capabilities, constraints.needs, candidate);
  if (tooSmall !== undefined) return tooSmall;
  if (requires.gpu && !candidate.capabilities.includes('gpu')) return 'has no GPU';
  if (requires.network && !candidate.isOnline) return NO_NETWORK;
  if (routing.nodeAffinity.length > 0 && !hasRole(candidate, routing.nodeAffinity)) return `is none of ${routing.nodeAffinity.join(', ')}`;
  if (candidate.hops > Math.min(constraints.hop_budget ?? routing.hopLimit, routing.hopLimit)) return 'is too many hops away';
  return undefined;
}

/** Returns why the announced bounds of a hub's capabilities exclude a call. Bounds that this hub does not know are checked by that hub. */
function constraintBroken(
  capabilities: readonly string[],
  { model, imageBytes = 0 }: CallNeeds = {},
  { constraints }: RouteCandidate,
): string | undefined {
  for (const capability of capabilities) {
    const { max_image_mb: maxMb, model: models } = constraints?.get(capability) ?? {};
    if (typeof maxMb === 'number' && imageBytes > maxMb * BYTES_PER_MB) return `takes pictures of at most ${maxMb} MB`;
    const names = typeof models === 'string' ? models.split(',').map((name) => name.trim()) : undefined;
    if (model !== undefined && names?.includes(model) === false) return `has no model ${model.slice(0, 64)}`;
  }
  return undefined;
}

/** True when one of the names is the hub's id or name. */
export function isNamed(candidate: Pick<RouteCandidate, 'id' | 'name'>, names: readonly string[]): boolean {
  return names.includes(candidate.id) || names.includes(candidate.name);
}

/** Affinity names hubs or roles; a hub has the role of each of its capabilities (`matter-bridge` is `matter_bridge`). */
function hasRole(candidate: RouteCandidate, affinity: readonly string[]): boolean {
  const roles = candidate.capabilities.map((capability) => capability.replaceAll('_', '-'));
  return isNamed(candidate, affinity) || affinity.some((role) => roles.includes(role.replaceAll('_', '-')));
}
