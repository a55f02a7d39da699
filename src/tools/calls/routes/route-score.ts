import { compareText } from '../../../core/edit-distance.ts';
import type { ToolDefinition } from '../../definition/tool-definition.ts';

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
}

/** What the caller asks of the route (source 000 §4, `routing`). */
export interface RoutingWish {
  readonly prefer_nodes?: readonly string[];
  readonly exclude_nodes?: readonly string[];
  /** Ids or names of the only hubs that may run it. */
  readonly only_nodes?: readonly string[];
  readonly hop_budget?: number;
}

/** The same with what the caller's token allows. */
export interface RouteWish extends RoutingWish {
  /** Ids of the only hubs that may act for the caller; all when absent. */
  readonly allowed_nodes?: readonly string[];
}

/** A hub that cannot take the call, and why. */
export interface RouteRefusal {
  readonly node_id: string;
  readonly reason: string;
}

/** The hubs in the order in which to try them, and those that are out of the question. */
export interface Route {
  /** Best first. */
  readonly ranked: readonly RouteCandidate[];
  readonly refused: readonly RouteRefusal[];
}

/** Reasons that pass. */
export const NOT_REACHABLE = 'is not reachable';
export const NO_NETWORK = 'has no network';

const HOP_FACTOR = 0.95;
const LOCAL_FACTOR = 1.2;
const WISH_FACTOR = 1.1;

/** Which hubs can run a tool, best first by the score of source 000 §4; ties by latency, then id. */
export function rankRoute(definition: ToolDefinition, wish: RouteWish, candidates: readonly RouteCandidate[]): Route {
  const ranked: RouteCandidate[] = [];
  const refused: RouteRefusal[] = [];
  for (const candidate of candidates) {
    const reason = obstacle(definition, wish, candidate);
    if (reason === undefined) ranked.push(candidate);
    else refused.push({ node_id: candidate.id, reason });
  }
  const score = (candidate: RouteCandidate) => routeScore(definition, wish, candidate);
  ranked.sort((a, b) => score(b) - score(a) || a.roundTripMs - b.roundTripMs || compareText(a.id, b.id));
  return { ranked, refused };
}

/** 0.95 per hop, times 1.2 here when the tool prefers that, 1.1 for preferred hubs, 1.1 for a GPU that the tool wishes for. */
export function routeScore(definition: ToolDefinition, wish: RoutingWish, candidate: RouteCandidate): number {
  const wishesGpu = definition.routing.preferGpu || definition.requires.gpuPreferred;
  const local = definition.routing.preferLocal && candidate.isLocal ? LOCAL_FACTOR : 1;
  const preferred = isNamed(candidate, wish.prefer_nodes ?? []) ? WISH_FACTOR : 1;
  const gpu = wishesGpu && candidate.capabilities.includes('gpu') ? WISH_FACTOR : 1;
  return HOP_FACTOR ** candidate.hops * local * preferred * gpu;
}

function obstacle(definition: ToolDefinition, wish: RouteWish, candidate: RouteCandidate): string | undefined {
  const { requires, routing } = definition;
  const missing = requires.capabilities.filter((capability) => !candidate.capabilities.includes(capability));
  if (!candidate.isReachable) return NOT_REACHABLE;
  if (wish.allowed_nodes?.includes(candidate.id) === false) return 'is not among the hubs that the token allows';
  if (isNamed(candidate, wish.exclude_nodes ?? [])) return 'is excluded by the request';
  if (wish.only_nodes && !isNamed(candidate, wish.only_nodes)) return 'is not among the hubs that the request names';
  if (missing.length > 0) return `lacks ${missing.join(', ')}`;
  if (requires.gpu && !candidate.capabilities.includes('gpu')) return 'has no GPU';
  if (requires.network && !candidate.isOnline) return NO_NETWORK;
  if (routing.nodeAffinity.length > 0 && !hasRole(candidate, routing.nodeAffinity)) return `is none of ${routing.nodeAffinity.join(', ')}`;
  if (candidate.hops > Math.min(wish.hop_budget ?? routing.hopLimit, routing.hopLimit)) return 'is too many hops away';
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
