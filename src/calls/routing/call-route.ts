import { MAX_FORWARDED_PARAMS } from '../../codec/messages/call.ts';
import { compareText } from '../../core/edit-distance.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { isActing, notConfigured, type RegisteredTool, type ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { type ConfirmedCall, isElsewhere, isNamed, type RuledCall, type ScheduledCall } from '../call.ts';
import { MAX_CALL_DEPTH } from '../limits.ts';
import type { CallRouter, ForwardedCall, RouteCandidate, StageContext } from '../pipeline-context.ts';
import type { RoutingPreferences } from '../request-and-answer.ts';

/** Conditions for the hubs that may run a call. They come from the request, the token and the parameters. */
interface RouteConstraints extends RoutingPreferences {
  /** Ids of the hubs that the token allows; all hubs if absent. */
  readonly allowed_nodes?: readonly string[];
  readonly needs?: CallNeeds;
}

/** What the parameters of a call require of a hub, in addition to the requirements of the tool. */
interface CallNeeds {
  readonly model?: string;
  /** Size of the picture in the parameters, in bytes. */
  readonly imageBytes?: number;
}

/** A hub that cannot run the call, and the reason. */
export interface RouteRefusal {
  readonly node_id: string;
  readonly reason: string;
}

/** The hubs that can run a call, in the order in which they are tried, and the hubs that cannot run it. */
interface Route {
  /** Hubs that can run the call, best first. */
  readonly ranked: readonly RouteCandidate[];
  readonly refused: readonly RouteRefusal[];
}

type CandidateContext = Pick<StageContext, 'tools' | 'mesh' | 'self'>;

/** Tools of this namespace administer the hub that they run on. */
const HUB_NAMESPACE = 'hub';
/** Temporary reasons for a refusal. */
const NOT_REACHABLE = 'is not reachable';
const NO_NETWORK = 'has no network';
const TRANSIENT_REASONS: ReadonlySet<string> = new Set([NOT_REACHABLE, NO_NETWORK]);

const BYTES_PER_MB = 1_048_576;
const HOP_FACTOR = 0.95;
const LOCAL_FACTOR = 1.2;
const PREFERENCE_FACTOR = 1.1;

/** A call that takes its route: one that is about to run, or one that is only rehearsed. */
type RoutedFrom = ScheduledCall | RuledCall<'asked'>;

/**
 * Returns the hubs that can run the call, best first. If no hub can run it, throws one of these errors: PAYLOAD_TOO_LARGE (the parameters
 * are too long for other hubs), NOT_CONFIGURED (this hub lacks a setting, and no other hub has the tool), NODE_UNAVAILABLE (the hubs with
 * the tool are unreachable) or NO_CAPABLE_NODE. If the call would run here but the device does not respond, throws DEVICE_UNREACHABLE.
 */
export function rankedHubs(call: RoutedFrom, context: StageContext): readonly RouteCandidate[] {
  const { ranked, refused } = routeOf(call, context);
  const staysHere = call.paramsBytes > maxForwardedBytes(call.tool, context);
  const route = ranked.filter((candidate) => candidate.isLocal || !staysHere);
  const [best] = route;
  if (!best && staysHere && ranked.length > 0) throw tooLongToForward(call, context);
  const missingSetting = call.tool.missingSetting?.();
  if (!best && missingSetting !== undefined && refused.length === 0) throw notConfigured(call.tool.id, missingSetting);
  if (!best) throw isElsewhere(call) && refused.every(isUnreachable) ? nodeUnavailable(call, refused) : noHubPermitted(call, refused);
  if (best.isLocal && call.tool.isAvailable?.() === false) {
    throw new AtmoError('DEVICE_UNREACHABLE', `The device of ${call.tool.id} does not answer at the moment; nothing was sent`);
  }
  return route;
}

/**
 * Returns the route of a call. If no hub supports the call's parameters but this hub has the tool, the call runs here. It then fails, but
 * the tool's own error is the most precise one.
 */
function routeOf(call: RoutedFrom, context: StageContext): Route {
  const candidates = candidatesFor(call.tool, context);
  const constraints = routeConstraints(call);
  const route = rankRoute(call.tool.definition, { ...constraints, needs: needsOf(call) }, candidates);
  if (route.ranked.length > 0) return route;
  const own = rankRoute(call.tool.definition, constraints, candidates).ranked.filter(({ isLocal }) => isLocal);
  return { ...route, ranked: own };
}

/** Returns how many bytes of JSON the parameters may have on the way to another hub: the smaller of the tool's and the mesh's limit. */
export function maxForwardedBytes({ definition }: RegisteredTool, { maxParamsBytes }: Pick<StageContext, 'maxParamsBytes'>): number {
  return Math.min(definition.execution.maxParamsBytes ?? maxParamsBytes, MAX_FORWARDED_PARAMS);
}

function tooLongToForward({ tool, paramsBytes }: RoutedFrom, context: StageContext): AtmoError {
  const most = maxForwardedBytes(tool, context);
  const message = `Only another hub can run ${tool.id}, and ${paramsBytes} bytes of parameters are more than the ${most} that go there; call it at that hub`;
  return new AtmoError('PAYLOAD_TOO_LARGE', message, { max_bytes: most });
}

/** Returns what the parameters require of a hub. The size of a picture is unknown if the parameter is a URL. */
function needsOf({ params: { model, image } }: RoutedFrom): CallNeeds {
  const isInline = typeof image === 'string' && !/^https?:/i.test(image);
  return {
    ...(typeof model === 'string' && { model }),
    ...(isInline && { imageBytes: Math.floor(((image.length - image.indexOf(',') - 1) * 3) / 4) }),
  };
}

/** Returns the routing preferences of the request, limited by the token and the tool. */
function routeConstraints(call: RoutedFrom): RouteConstraints & { readonly hop_budget: number } {
  const { routing, principal } = call.request;
  const { hopLimit } = call.tool.definition.routing;
  const { maxHops, allowedNodes } = principal.token ?? {};
  return {
    ...routing,
    hop_budget: Math.min(routing?.hop_budget ?? hopLimit, hopLimit, maxHops ?? hopLimit),
    ...(allowedNodes && { allowed_nodes: allowedNodes }),
  };
}

/** Returns NO_CAPABLE_NODE, with the reason why each hub cannot run the call. */
export function noCapableNode(call: RoutedFrom, refused: readonly RouteRefusal[]): AtmoError {
  const reasons = refused.map((refusal) => `${refusal.node_id} ${refusal.reason}`).join('; ');
  return new AtmoError('NO_CAPABLE_NODE', `No hub can run ${call.tool.id}: ${reasons || 'none has it any more'}`, {
    tried: refused.map((refusal) => ({ ...refusal })),
  });
}

/** Returns NO_CAPABLE_NODE. If every reason is permanent, the details contain `permanent: true`. */
function noHubPermitted(call: RoutedFrom, refused: readonly RouteRefusal[]): AtmoError {
  const { code, message, details } = noCapableNode(call, refused);
  const isPermanent = refused.length > 0 && !refused.some(isTransient);
  return new AtmoError(code, message, isPermanent ? { ...details, permanent: true } : details);
}

function nodeUnavailable(call: RoutedFrom, refused: readonly RouteRefusal[]): AtmoError {
  const hubs = refused.map(({ node_id: id }) => id);
  return new AtmoError('NODE_UNAVAILABLE', `${hubs.join(' and ') || 'The hub'} with ${call.tool.id} cannot be reached; try again later`, {
    tried: refused.map((refusal) => ({ ...refusal })),
  });
}

/** Returns whether the reason for a refusal may be temporary. */
function isTransient({ reason }: RouteRefusal): boolean {
  return TRANSIENT_REASONS.has(reason);
}

function isUnreachable({ reason }: RouteRefusal): boolean {
  return reason === NOT_REACHABLE;
}

/** Returns the hubs that have the tool and would give the same result. Some of them may be unable to run the tool now. */
function candidatesFor(tool: RegisteredTool, context: CandidateContext): readonly RouteCandidate[] {
  const elsewhere = tool.hubs || isPortable(tool) ? context.tools.hubsOf(tool) : [];
  const peers = elsewhere.length === 0 ? [] : context.mesh.peers().filter(({ id }) => elsewhere.includes(id));
  const others = peers.map((peer) => ({
    ...peer,
    isLocal: false,
    isOnline: peer.isOnline ?? true,
    roundTripMs: peer.roundTripMs ?? Number.MAX_VALUE,
  }));
  return tool.hubs || tool.missingSetting?.() !== undefined ? others : [context.self, ...others];
}

/** Returns whether the tool gives the same result on every hub. False for tools about devices or about the hub itself. */
function isPortable({ canonicalize, effects, definition }: RegisteredTool): boolean {
  return !canonicalize && !effects && definition.metadata.device === undefined && definition.namespace !== HUB_NAMESPACE;
}

/** Returns the hubs that can run a tool, best score first. Equal scores are ordered by latency, then by id. */
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

/**
 * Returns a hub's score, which is the product of these factors: 0.95 for each hop; 1.2 for this hub, if the tool prefers it; 1.1 for a hub
 * that the request prefers; 1.1 for a hub with a GPU, if the tool prefers a GPU.
 */
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

/** If the call violates a limit that the candidate hub announces, returns a text about it. That hub checks unannounced limits itself. */
function constraintBroken(
  capabilities: readonly string[],
  { model, imageBytes = 0 }: CallNeeds = {},
  candidate: RouteCandidate,
): string | undefined {
  for (const capability of capabilities) {
    const { max_image_mb: maxMb, model: models } = candidate.constraints?.get(capability) ?? {};
    if (typeof maxMb === 'number' && imageBytes > maxMb * BYTES_PER_MB) return `takes pictures of at most ${maxMb} MB`;
    const names = typeof models === 'string' ? models.split(',').map((name) => name.trim()) : undefined;
    if (model !== undefined && names?.includes(model) === false) return `has no model ${model.slice(0, 64)}`;
  }
  return undefined;
}

/** Returns whether `affinity` contains the hub's id, its name or one of its capabilities. In capabilities, `-` and `_` are equal. */
function hasRole(candidate: RouteCandidate, affinity: readonly string[]): boolean {
  const roles = candidate.capabilities.map((capability) => capability.replaceAll('_', '-'));
  return isNamed(candidate, affinity) || affinity.some((role) => roles.includes(role.replaceAll('_', '-')));
}

/** Error codes with which a hub refuses a call that it has not accepted yet. Another hub may then run the call. */
const NEXT_HUB_CODES: ReadonlySet<ErrorCode> = new Set(['NODE_UNAVAILABLE', 'SHUTTING_DOWN', 'RESOURCE_EXCEEDED']);
/** Error codes of a hub that ended an accepted call after its cancellation or deadline. */
const STOPPED_CODES: ReadonlySet<ErrorCode> = new Set(['CANCELLED', 'TIMEOUT']);

/** Runs the call on another hub, which repeats all checks. Rejects with that hub's error, and adds its id to the details. */
export async function runOnHub(candidate: RouteCandidate, call: ConfirmedCall, router: CallRouter): Promise<Json> {
  let isAccepted = false;
  const onAccept = () => {
    isAccepted = true;
    call.running.isDispatched = true;
  };
  try {
    const { result, nodeId, hops } = await router.forward(candidate.id, { ...forwardedCall(call), onAccept });
    call.running.isDispatched = true;
    call.running.ranOn = { ...candidate, id: nodeId, hops };
    return result;
  } catch (thrown) {
    const error = toAtmoError(thrown);
    if (isAccepted && call.running.deadline.signal.aborted && STOPPED_CODES.has(error.code) && isActing(call.tool.definition))
      throw outcomeUnknown(candidate, call);
    throw withHub(error, candidate);
  }
}

/** Returns whether the next hub may be tried after this error: only if the call then cannot take effect twice. */
export function canTryNextHub(call: ConfirmedCall, thrown: unknown): boolean {
  const { code, details } = toAtmoError(thrown);
  if (call.running.deadline.signal.aborted) return false;
  // A relaying hub's error is not signed. It may claim falsely that the call did not run. The next hub could then run it a second time.
  if (details.via !== undefined && isActing(call.tool.definition)) return false;
  if (!call.running.isDispatched) return NEXT_HUB_CODES.has(code);
  return call.tool.definition.execution.isIdempotent && (code === 'OUTCOME_UNKNOWN' || code === 'NODE_UNAVAILABLE');
}

function forwardedCall(call: ConfirmedCall): ForwardedCall {
  const { idempotencyKey, principal, sessionId, version } = call.request;
  return {
    principal,
    tool: call.tool,
    ...(version !== undefined && { versionRange: version }),
    params: call.params,
    requestId: call.running.requestId,
    traceId: call.running.traceId,
    ...(sessionId !== undefined && { sessionId }),
    mode: forwardedMode(call),
    untilMs: call.running.deadline.untilMs,
    hopBudget: routeConstraints(call).hop_budget - 1,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    signal: call.running.deadline.signal,
    onChunk: (chunk) => call.running.emitChunk(call.tool, chunk),
  };
}

function forwardedMode({ running, request }: ConfirmedCall): ForwardedCall['mode'] {
  // If the call is a job of this hub, the other hub runs it synchronously, because the job here waits for the answer.
  if (running.job || running.mode === 'sync') return 'sync';
  return request.waitsForApproval ? 'waiting_job' : 'job';
}

function outcomeUnknown({ id }: RouteCandidate, call: RoutedFrom): AtmoError {
  const message = `${call.tool.id} was running on ${id} when this call ended; read the state before calling it again`;
  return new AtmoError('OUTCOME_UNKNOWN', message, { node_id: id });
}

/** Adds the hub to the error: the caller must know which hub refused the call or requires the approval. */
function withHub(error: AtmoError, { id, name }: RouteCandidate): AtmoError {
  const { code, cause = error } = error;
  if (code !== 'APPROVAL_REQUIRED') return new AtmoError(code, error.message, { node_id: id, ...error.details }, { cause });
  // The details name the other hub, so that the CLI requests the approval there and not on its own hub.
  const details = { ...error.details, node_id: id, node_name: name };
  return new AtmoError(code, `${error.message}, by people of the hub ${name}`, details, { cause });
}

/**
 * Returns the reason if no call of the tool could run now: no hub can run it, its device is unreachable, or a tool that it calls cannot
 * run. Returns undefined if a call could run.
 */
export function obstacleTo(tool: RegisteredTool, context: CandidateContext, depth = 0): string | undefined {
  return hubObstacle(tool, context) ?? (depth < MAX_CALL_DEPTH ? stepObstacle(tool, context, depth) : undefined) ?? deviceObstacle(tool);
}

/** Returns the reason if no call of the tool can run until the hubs change. Returns undefined if a call can run or may run later. */
export function permanentObstacleTo(tool: RegisteredTool, context: CandidateContext): string | undefined {
  const { ranked, refused } = rankRoute(tool.definition, {}, candidatesFor(tool, context));
  const isLasting = ranked.length === 0 && refused.length > 0 && !refused.some(isTransient);
  return isLasting ? hubObstacle(tool, context) : undefined;
}

function hubObstacle(tool: RegisteredTool, context: CandidateContext): string | undefined {
  const candidates = candidatesFor(tool, context);
  const { ranked, refused } = rankRoute(tool.definition, {}, candidates);
  if (ranked.length > 0) return undefined;
  const missingSetting = tool.missingSetting?.();
  if (missingSetting !== undefined) return `it is not configured: ${missingSetting}`;
  const nameOf = (id: string) => (id === context.self.id ? 'this hub' : (candidates.find((candidate) => candidate.id === id)?.name ?? id));
  const reasons = refused.map(({ node_id: id, reason }) => `${nameOf(id)} ${reason}`);
  return `no hub can run it: ${reasons.join('; ') || 'none has it any more'}`;
}

function deviceObstacle(tool: RegisteredTool): string | undefined {
  // If this hub lacks the tool's setting, another hub runs the tool. Only that hub knows whether the device is reachable.
  if (tool.missingSetting?.() !== undefined || tool.isAvailable?.() !== false) return undefined;
  if (tool.definition.metadata.device !== undefined) return `its device (${tool.definition.metadata.device}) does not answer`;
  return 'what it works on cannot be reached';
}

function stepObstacle(tool: RegisteredTool, context: CandidateContext, depth: number): string | undefined {
  for (const { tool: name } of tool.innerCalls?.(undefined) ?? []) {
    const step = findTool(name, context);
    const obstacle = step ? obstacleTo(step, context, depth + 1) : 'there is no such tool now';
    if (obstacle !== undefined) return `it calls ${name}: ${obstacle}`;
  }
  return undefined;
}

function findTool(name: string, { tools }: CandidateContext): RegisteredTool | undefined {
  try {
    return tools.resolve(name);
  } catch {
    return undefined;
  }
}
