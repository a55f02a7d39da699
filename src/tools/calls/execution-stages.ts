import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { copyJson, RESULT_LIMITS } from '../schema/plain-json.ts';
import type { ToolContext } from '../tool-definition.ts';
import type { Stage } from './admission-stages.ts';
import type { Call } from './call.ts';
import { normalizeResult } from './call-answer.ts';
import { auditIntent, eventData, eventParams } from './call-audit.ts';
import type { ForwardedCall } from './call-collaborators.ts';
import { confirmRules } from './consent-stages.ts';
import { confirmEffects } from './effect-stages.ts';
import { type RouteCandidate, type RouteRefusal, type RouteWish, rankRoute } from './route-score.ts';
import { runAttempts } from './run-attempts.ts';
import { boundedContext, newRun } from './run-context.ts';
import type { StageContext } from './stage-context.ts';

/** What happens to an admitted call, in the order of design 4. */
export const EXECUTION_STAGES: readonly Stage[] = [takeSlot, chooseRoute, writeIntent, confirmEffects, confirmRules, runTool, checkResult];

async function takeSlot(call: Call, context: StageContext): Promise<void> {
  const { within, principal } = call.request;
  call.deadline.signal.throwIfAborted();
  // A step that waited for a slot while the call around it holds one could wait for ever.
  if (call.mode === 'sync' && within && context.running.has(within)) return;
  call.onEnd(await context.gates.enter(principal, call.deadline.signal));
  call.job?.running();
}

function chooseRoute(call: Call, context: StageContext): void {
  const { ranked, refused } = rankRoute(call.tool.definition, routeWish(call), candidates(context));
  call.route = ranked.filter((candidate) => candidate.isLocal || context.router);
  if (call.route.length === 0) throw noCapableNode(call, refused);
  if (call.tool.isAvailable?.() === false) {
    throw new AtmoError('DEVICE_UNREACHABLE', `The device of ${call.tool.id} does not answer at the moment; nothing was sent`);
  }
}

async function writeIntent(call: Call, context: StageContext): Promise<void> {
  const run = newRun(call.tool.definition, context.nowMs());
  call.run = run;
  const intent = auditIntent(call, context, run);
  try {
    await context.audit?.record(intent);
  } catch (error) {
    context.logger.error('audit.intent_failed', { tool: call.tool.id, trace_id: call.traceId, dangerous: intent.mustSync });
    if (intent.mustSync) throw toAtmoError(error);
  }
  call.deadline.signal.throwIfAborted();
}

async function runTool(call: Call, context: StageContext): Promise<void> {
  call.claim?.dispatched();
  call.isDispatched = true;
  call.request.onDispatch?.();
  context.events.emit('agi.tool.invoked', call.tool.id, { ...eventData(call), ...eventParams(call) });
  const { definition } = call.tool;
  const attempts = { definition, deadline: call.deadline, clock: context.clock };
  call.rawResult = await runAttempts({ ...attempts, run: () => runOnRoute(call, context) });
}

function checkResult(call: Call, context: StageContext): void {
  const { id, definition } = call.tool;
  try {
    const result = copyJson(call.rawResult, RESULT_LIMITS);
    call.result = normalizeResult(result);
    if (Object.keys(definition.returns).length === 0) return;
    const check = context.validator.check(definition.returns, result);
    if (!check.isValid) throw new AtmoError('RESULT_INVALID', check.problems.map((problem) => problem.message).join('; '));
  } catch (error) {
    const { message } = toAtmoError(error);
    context.logger.warn('tool.result_invalid', { tool: id, trace_id: call.traceId, problem: message });
    if (call.result && context.resultInvalid === 'warn') return;
    const doubt = definition.execution.hasSideEffects ? '; it has run and may have taken effect' : '';
    throw new AtmoError('RESULT_INVALID', `The answer of ${id} breaks its own schema: ${message}${doubt}`);
  }
}

/** Tries hubs in order; the next one only while the one before has accepted nothing. */
async function runOnRoute(call: Call, context: StageContext): Promise<Json> {
  const tries: RouteRefusal[] = [];
  for (const candidate of call.route) {
    call.ranOn = candidate;
    try {
      return await runOn(candidate, call, context);
    } catch (error) {
      if (candidate.isLocal || toAtmoError(error).code !== 'NODE_UNAVAILABLE') throw error;
      tries.push({ node_id: candidate.id, reason: toAtmoError(error).message });
    }
  }
  throw noCapableNode(call, tries);
}

async function runOn(candidate: RouteCandidate, call: Call, context: StageContext): Promise<Json> {
  const { router } = context;
  if (candidate.isLocal || !router) return runHere(call, context);
  const { result, nodeId, hops } = await router.forward(candidate.id, forwarded(call));
  call.ranOn = { ...candidate, id: nodeId, hops };
  return result;
}

function forwarded(call: Call): ForwardedCall {
  const { idempotencyKey, principal, sessionId, version } = call.request;
  return {
    principal,
    tool: call.tool,
    ...(version !== undefined && { versionRange: version }),
    params: call.params,
    requestId: call.requestId,
    traceId: call.traceId,
    ...(sessionId !== undefined && { sessionId }),
    mode: call.mode,
    deadlineMs: call.deadline.atMs,
    hopBudget: routeWish(call).hop_budget - 1,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    signal: call.deadline.signal,
  };
}

async function runHere(call: Call, context: StageContext): Promise<Json> {
  const given = toolContext(call, context);
  context.running.add(given);
  call.onEnd(() => context.running.delete(given));
  return call.tool.handler(call.params, given);
}

function toolContext(call: Call, context: StageContext): ToolContext {
  const { principal, sessionId } = call.request;
  const { determinism } = call.tool.definition.execution;
  const run = call.run ?? newRun(call.tool.definition, context.nowMs());
  const world = determinism === 'bounded' ? boundedContext(run) : { clock: context.clock, random: Math.random };
  return {
    agentId: principal.id,
    principal,
    get role() {
      return context.roleOf?.(principal);
    },
    sessionId: sessionId ?? call.traceId,
    traceId: call.traceId,
    requestId: call.requestId,
    permissions: principal.permissions,
    nodeId: context.nodeId,
    signal: call.deadline.signal,
    deadlineMs: call.deadline.atMs,
    ...world,
    run,
    logger: context.logger.child({ tool: call.tool.id, trace_id: call.traceId }),
    progress: (fraction, note) => call.job?.progress(fraction, note),
  };
}

/** What the caller asks for, within what its token and the tool allow. */
function routeWish(call: Call): RouteWish & { readonly hop_budget: number } {
  const { routing, principal } = call.request;
  const { hopLimit } = call.tool.definition.routing;
  const { maxHops, allowedNodes } = principal.token ?? {};
  return {
    ...routing,
    hop_budget: Math.min(routing?.hop_budget ?? hopLimit, hopLimit, maxHops ?? hopLimit),
    ...(allowedNodes && { allowed_nodes: allowedNodes }),
  };
}

function candidates(context: StageContext): readonly RouteCandidate[] {
  const facts = context.facts?.() ?? { name: context.nodeId, isOnline: true };
  const here: RouteCandidate = {
    id: context.nodeId,
    name: facts.name,
    isLocal: true,
    isReachable: true,
    isOnline: facts.isOnline,
    hops: 0,
    roundTripMs: 0,
    capabilities: context.capabilities(),
  };
  const peers = context.mesh?.peers() ?? [];
  return [here, ...peers.map((peer) => ({ ...peer, isLocal: false, isOnline: true, roundTripMs: peer.roundTripMs ?? Number.MAX_VALUE }))];
}

function noCapableNode(call: Call, refused: readonly RouteRefusal[]): AtmoError {
  const reasons = refused.map((refusal) => `${refusal.node_id} ${refusal.reason}`).join('; ');
  return new AtmoError('NO_CAPABLE_NODE', `No hub can run ${call.tool.id}: ${reasons}`, {
    tried: refused.map((refusal) => ({ ...refusal })),
  });
}
