import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { confirmEffects, type Stage } from './admission-stages.ts';
import type { Call } from './call.ts';
import { normalizeResult } from './call-answer.ts';
import type { StageContext } from './call-collaborators.ts';
import { copyJson, RESULT_LIMITS } from './plain-json.ts';
import { type RouteCandidate, type RouteRefusal, rankRoute } from './route-score.ts';
import { runAttempts } from './run-attempts.ts';
import { maskSecrets } from './secret-params.ts';
import type { ToolContext } from './tool-definition.ts';

/** Longest JSON text of parameters that an event repeats. */
const MAX_SHOWN_LENGTH = 4_096;

/** What happens to an admitted call, in the order of design 4. */
export const EXECUTION_STAGES: readonly Stage[] = [takeSlot, chooseRoute, auditIntent, confirmEffects, runTool, checkResult];

async function takeSlot(call: Call, context: StageContext): Promise<void> {
  call.onEnd(await context.gate.enter(call.deadline.signal));
  call.job?.running();
}

function chooseRoute(call: Call, context: StageContext): void {
  const { ranked, refused } = rankRoute(call.tool.definition, call.request.routing ?? {}, candidates(context));
  call.route = ranked.filter((candidate) => candidate.isLocal || context.router);
  if (call.route.length === 0) throw noCapableNode(call, refused);
  if (call.tool.isAvailable?.() === false) {
    throw new AtmoError('DEVICE_UNREACHABLE', `The device of ${call.tool.id} does not answer at the moment; nothing was sent`);
  }
}

async function auditIntent(call: Call, context: StageContext): Promise<void> {
  const { principal } = call.request;
  const mustSync = call.risk === 'dangerous';
  const intent = context.audit?.record({
    kind: 'intent',
    requestId: call.requestId,
    traceId: call.traceId,
    principal,
    toolId: call.tool.id,
    atMs: context.clock.now(),
    argumentsHash: call.hash(),
    effects: call.effects,
    decision: {},
    run: { runId: call.requestId, logicalTimeMs: context.clock.now(), randomSeed: '' },
    mustSync,
  });
  try {
    await intent;
  } catch (error) {
    context.logger.error('audit.intent_failed', { tool: call.tool.id, trace_id: call.traceId, dangerous: mustSync });
    if (mustSync) throw toAtmoError(error);
  }
  call.deadline.signal.throwIfAborted();
}

async function runTool(call: Call, context: StageContext): Promise<void> {
  call.claim?.dispatched();
  call.isDispatched = true;
  context.events.emit('agi.tool.invoked', call.tool.id, { ...eventData(call), ...shownParams(call) });
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

/** Events are remembered for listeners that come back: long parameters would fill a board's memory. */
function shownParams(call: Call): JsonObject {
  const params = maskSecrets(call.tool.definition.parameters, call.params);
  const { length } = JSON.stringify(params);
  return length <= MAX_SHOWN_LENGTH ? { params } : { params_length: length };
}

/** What every event of a call carries. */
export function eventData(call: Call): JsonObject {
  return { tool: call.toolId, request_id: call.requestId, trace_id: call.traceId, agent_id: call.request.principal.id };
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

function runOn(candidate: RouteCandidate, call: Call, context: StageContext): Promise<Json> {
  const { router } = context;
  if (candidate.isLocal || !router) return call.tool.handler(call.params, toolContext(call, context));
  const { idempotencyKey, routing, principal } = call.request;
  const { hopLimit } = call.tool.definition.routing;
  return router.forward(candidate.id, {
    principal,
    tool: call.tool,
    params: call.params,
    requestId: call.requestId,
    traceId: call.traceId,
    deadlineMs: call.deadline.atMs,
    hopBudget: Math.min(routing?.hop_budget ?? hopLimit, hopLimit) - 1,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    signal: call.deadline.signal,
  });
}

function toolContext(call: Call, context: StageContext): ToolContext {
  const { principal, sessionId } = call.request;
  return {
    agentId: principal.id,
    principal,
    sessionId: sessionId ?? call.traceId,
    traceId: call.traceId,
    requestId: call.requestId,
    permissions: principal.permissions,
    nodeId: context.nodeId,
    signal: call.deadline.signal,
    deadlineMs: call.deadline.atMs,
    clock: context.clock,
    run: { runId: call.requestId, logicalTimeMs: context.clock.now(), randomSeed: '' },
    random: Math.random,
    logger: context.logger.child({ tool: call.tool.id, trace_id: call.traceId }),
    progress: (fraction, note) => call.job?.progress(fraction, note),
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
