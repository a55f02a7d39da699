import { AtmoError } from '../../../core/errors.ts';
import { MAX_FORWARDED_PARAMS } from '../../../wire/messages/call-parts.ts';
import { notConfigured } from '../../definition/missing-setting.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import type { Call } from '../call.ts';
import type { StageContext } from '../stages/stage-context.ts';
import {
  type CallNeeds,
  NO_NETWORK,
  NOT_REACHABLE,
  type Route,
  type RouteCandidate,
  type RouteRefusal,
  type RouteWish,
  rankRoute,
} from './route-score.ts';

type CandidateContext = Pick<StageContext, 'tools' | 'mesh' | 'nodeId' | 'capabilities' | 'facts'>;

/** Tools of this namespace administer the hub that they run on. */
const OF_ONE_HUB = 'hub';
/** What may be over in a moment. */
const PASSING_REASONS: ReadonlySet<string> = new Set([NOT_REACHABLE, NO_NETWORK]);

/** The hubs that can run the call, best first. NO_CAPABLE_NODE or NODE_UNAVAILABLE with the reasons, DEVICE_UNREACHABLE. */
export function chooseRoute(call: Call, context: StageContext): void {
  const { ranked, refused } = routeOf(call, context);
  const staysHere = call.paramsBytes > bytesToOthers(call.tool, context);
  call.route = ranked.filter((candidate) => candidate.isLocal || !staysHere);
  const [best] = call.route;
  if (!best && staysHere && ranked.length > 0) throw tooLongForOthers(call, context);
  const missingSetting = call.tool.missingSetting?.();
  if (!best && missingSetting !== undefined && refused.length === 0) throw notConfigured(call.tool.id, missingSetting);
  if (!best) throw call.isElsewhere && refused.every(isUnreachable) ? nodeUnavailable(call, refused) : nobodyMay(call, refused);
  if (best.isLocal && call.tool.isAvailable?.() === false) {
    throw new AtmoError('DEVICE_UNREACHABLE', `The device of ${call.tool.id} does not answer at the moment; nothing was sent`);
  }
}

/** A call that fits nowhere by its parameters runs here where it can: the tool says best what it does take. */
function routeOf(call: Call, context: StageContext): Route {
  const candidates = candidatesFor(call.tool, context);
  const wish = routeWish(call);
  const route = rankRoute(call.tool.definition, { ...wish, needs: needsOf(call) }, candidates);
  if (route.ranked.length > 0) return route;
  const own = rankRoute(call.tool.definition, wish, candidates).ranked.filter(({ isLocal }) => isLocal);
  return { ...route, ranked: own };
}

/** Longest JSON text of a call's parameters that goes to another hub, in bytes: that of a tool that takes files has the mesh's bound. */
export function bytesToOthers({ definition }: RegisteredTool, { maxParamsBytes }: Pick<StageContext, 'maxParamsBytes'>): number {
  return Math.min(definition.execution.maxParamsBytes ?? maxParamsBytes, MAX_FORWARDED_PARAMS);
}

function tooLongForOthers({ tool, paramsBytes }: Call, context: StageContext): AtmoError {
  const most = bytesToOthers(tool, context);
  const message = `Only another hub can run ${tool.id}, and ${paramsBytes} bytes of parameters are more than the ${most} that go there; call it at that hub`;
  return new AtmoError('PAYLOAD_TOO_LARGE', message, { max_bytes: most });
}

/** What the parameters name by which hubs differ. The address of a picture tells nothing of its size. */
function needsOf({ params: { model, image } }: Call): CallNeeds {
  const isInline = typeof image === 'string' && !/^https?:/i.test(image);
  return {
    ...(typeof model === 'string' && { model }),
    ...(isInline && { imageBytes: Math.floor(((image.length - image.indexOf(',') - 1) * 3) / 4) }),
  };
}

/** What the caller asks for, within what its token and the tool allow. */
export function routeWish(call: Call): RouteWish & { readonly hop_budget: number } {
  const { routing, principal } = call.request;
  const { hopLimit } = call.tool.definition.routing;
  const { maxHops, allowedNodes } = principal.token ?? {};
  return {
    ...routing,
    hop_budget: Math.min(routing?.hop_budget ?? hopLimit, hopLimit, maxHops ?? hopLimit),
    ...(allowedNodes && { allowed_nodes: allowedNodes }),
  };
}

/** No hub is left to run the call; the error lists what each of them is or said. */
export function noCapableNode(call: Call, refused: readonly RouteRefusal[]): AtmoError {
  const reasons = refused.map((refusal) => `${refusal.node_id} ${refusal.reason}`).join('; ');
  return new AtmoError('NO_CAPABLE_NODE', `No hub can run ${call.tool.id}: ${reasons || 'none has it any more'}`, {
    tried: refused.map((refusal) => ({ ...refusal })),
  });
}

/** As `noCapableNode`; `permanent` where each hub is refused for what the call, its token or the hub is. */
function nobodyMay(call: Call, refused: readonly RouteRefusal[]): AtmoError {
  const { code, message, details } = noCapableNode(call, refused);
  const isPermanent = refused.length > 0 && !refused.some(isPassing);
  return new AtmoError(code, message, isPermanent ? { ...details, permanent: true } : details);
}

function nodeUnavailable(call: Call, refused: readonly RouteRefusal[]): AtmoError {
  const hubs = refused.map(({ node_id: id }) => id);
  return new AtmoError('NODE_UNAVAILABLE', `${hubs.join(' and ') || 'The hub'} with ${call.tool.id} cannot be reached; try again later`, {
    tried: refused.map((refusal) => ({ ...refusal })),
  });
}

/** True for a refusal that may be over in a moment. */
export function isPassing({ reason }: RouteRefusal): boolean {
  return PASSING_REASONS.has(reason);
}

function isUnreachable({ reason }: RouteRefusal): boolean {
  return reason === NOT_REACHABLE;
}

/** The hubs that have the tool, or could do the same, whether they are able to or not. */
export function candidatesFor(tool: RegisteredTool, context: CandidateContext): readonly RouteCandidate[] {
  const elsewhere = tool.hubs || isPortable(tool) ? context.tools.hubsOf(tool) : [];
  const peers = context.mesh.peers().filter(({ id }) => elsewhere.includes(id));
  const others = peers.map((peer) => ({
    ...peer,
    isLocal: false,
    isOnline: peer.isOnline ?? true,
    roundTripMs: peer.roundTripMs ?? Number.MAX_VALUE,
  }));
  return tool.hubs || tool.missingSetting?.() !== undefined ? others : [here(context), ...others];
}

function here(context: CandidateContext): RouteCandidate {
  const facts = context.facts();
  return {
    id: context.nodeId,
    name: facts.name,
    isLocal: true,
    isReachable: true,
    isOnline: facts.isOnline,
    hops: 0,
    roundTripMs: 0,
    capabilities: context.capabilities(),
    ...(facts.constraints && { constraints: facts.constraints }),
  };
}

/** Whether a tool of this hub does the same on another: not when it is about devices or about the hub itself. */
function isPortable({ canonicalize, effects, definition }: RegisteredTool): boolean {
  return !canonicalize && !effects && definition.metadata.device === undefined && definition.namespace !== OF_ONE_HUB;
}
