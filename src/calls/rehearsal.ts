import { maxRisk, type Principal } from '../core/auth/principal.ts';
import type { Reversibility } from '../core/devices/device-states.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import { recordNote } from '../core/storage/audit-sink.ts';
import type { InnerCall, Restorable } from '../tools/definition/tool-definition.ts';
import { callerView } from '../tools/definition/tool-permissions.ts';
import { copyJsonObject, RESULT_LIMITS } from '../tools/schema/plain-json.ts';
import { type ReceivedCall, type RehearsedCall, RunningCall, riskOf, toolIdOf } from './call.ts';
import { redactedError } from './call-audit.ts';
import type { ComingActs, ComingConflict } from './coming-conflicts.ts';
import { MAX_CALL_DEPTH, MAX_NESTED_CALLS, tooManyCalls } from './limits.ts';
import type { RouteCandidate, StageContext } from './pipeline-context.ts';
import { type CallRequest, REHEARSAL_OUTCOMES, type Rehearsal } from './request-and-answer.ts';
import { rankedHubs } from './routing/call-route.ts';

/** Canonical id of the tool that rehearses calls; another hub is asked with it. */
const REHEARSE_TOOL_ID = 'hub:rehearse@1.0.0';
/** A limit is told when at most this share of it is left. */
const NEAR_SHARE = 0.1;
const NOTHING = { risk: 'none', effects: [], changes: [], limits: [], skipped: [], calls: [] } as const;
const NO_UNDO: Reversibility = { possible: false, reason: 'It would not run' };

/** Passes a call through the stages of REHEARSAL. Rejects with the error of the first stage that refuses it. */
export type RehearseStages = (call: ReceivedCall, context: StageContext) => Promise<RehearsedCall>;

/** Tells what calls would do, by the stages of REHEARSAL. It dispatches nothing. */
export class CallRehearser {
  readonly #context: StageContext;
  readonly #stages: RehearseStages;

  constructor(context: StageContext, stages: RehearseStages) {
    this.#context = context;
    this.#stages = stages;
  }

  /** Rehearses a call and the calls inside it. Rejects with RATE_LIMITED if the caller rehearses too often. */
  async rehearse(request: CallRequest): Promise<Rehearsal> {
    const { rehearsalLimiter, time } = this.#context;
    rehearsalLimiter.charge(request.principal);
    const rehearsal = await new RehearsedTree(this.#context, this.#stages).rehearse(request, 0);
    const { principal, traceId } = request;
    const data = { tool: rehearsal.tool, outcome: rehearsal.outcome };
    const note = { event: 'call.rehearsed', atMs: time.now(), principalId: principal.id, data };
    await recordNote(this.#context, { ...note, ...(traceId !== undefined && { traceId }) });
    return rehearsal;
  }
}

/** A call with the calls inside it. */
class RehearsedTree {
  readonly #context: StageContext;
  readonly #stages: RehearseStages;
  #callsLeft = MAX_NESTED_CALLS;
  #coming: Promise<ComingActs> | undefined;

  constructor(context: StageContext, stages: RehearseStages) {
    this.#context = context;
    this.#stages = stages;
  }

  async rehearse(request: CallRequest, depth: number): Promise<Rehearsal> {
    const running = new RunningCall(request, 'sync', this.#context);
    try {
      const call = await this.#stages(running.facts, this.#context);
      // A tool of this hub runs on another one where a setting is missing here, and only that hub knows its effects.
      const [hub] = rankedHubs(call, this.#context);
      return hub && !hub.isLocal ? await rehearsedAt(hub, call, this.#context) : await this.#told(call, depth);
    } catch (thrown) {
      const error = redactedError(running.facts, toAtmoError(thrown)).toBody();
      return { ...NOTHING, tool: toolIdOf(running.facts), outcome: 'would_be_refused', error, undo: NO_UNDO };
    } finally {
      running.end();
    }
  }

  async #told(call: RehearsedCall, depth: number): Promise<Rehearsal> {
    const { tool, params, effects, rule, approvalNeed } = call;
    const { authorizer, states } = this.#context;
    const caller = callerView(call.request.principal, authorizer);
    const inner = tool.innerCalls?.(params) ?? [];
    const calls = await this.#inner(call, inner, depth);
    const places = placesOf(call, calls);
    const conflicts = await this.#conflicts(call);
    return {
      tool: tool.id,
      outcome: worstOutcome(approvalNeed ? 'needs_approval' : 'would_run', calls),
      risk: maxRisk(riskOf(call), ...calls.map(({ risk }) => risk)),
      effects: effects.map(({ target, permission, risk }) => ({ target, permission, risk })),
      changes: states.changesOf(effects, (device) => caller.may(`device:read:${device}`)),
      ...(places.length > 0 && { places }),
      ...(approvalNeed && { approval: approvalNeed }),
      ...(rule !== undefined && { rule }),
      limits: this.#limitsNear(call.request.principal),
      skipped: tool.skips?.(params, caller) ?? [],
      calls,
      ...(conflicts.length > 0 && { conflicts }),
      undo: inner.length > 0 ? reversibilityOfAll(calls) : this.#reversibility(call),
    };
  }

  /** Returns where automations will set what the call sets. They are looked at once for a call with all calls inside it. */
  async #conflicts({ request, tool, params, effects }: RehearsedCall): Promise<readonly ComingConflict[]> {
    if (!tool.definition.execution.hasSideEffects) return [];
    this.#coming ??= this.#context.coming.actsFor(request.principal);
    return await (await this.#coming).conflictsOf({ toolId: tool.id, params, effects });
  }

  async #inner(call: RehearsedCall, inner: readonly InnerCall[], depth: number): Promise<readonly Rehearsal[]> {
    if (inner.length > 0 && depth === MAX_CALL_DEPTH) throw tooManyCalls(call.tool.id);
    const rehearsals: Rehearsal[] = [];
    for (const one of inner) {
      this.#callsLeft -= 1;
      if (this.#callsLeft < 0) throw tooManyCalls(call.tool.id);
      rehearsals.push(await this.#step(call.request, one, depth));
    }
    return rehearsals;
  }

  async #step({ principal, traceId, sessionId, signal }: CallRequest, { tool, params }: InnerCall, depth: number): Promise<Rehearsal> {
    if (params === undefined) return notKnown(tool, 'Its parameters are results of earlier steps');
    const request = { principal, tool, params, ...(traceId !== undefined && { traceId }) };
    return this.rehearse({ ...request, ...(sessionId !== undefined && { sessionId }), ...(signal && { signal }) }, depth + 1);
  }

  #reversibility({ tool, params, effects }: RehearsedCall): Reversibility {
    if (!tool.definition.execution.hasSideEffects) return { possible: true, reason: 'It changes nothing' };
    const restorable = tool.restorable?.(params);
    if (restorable) return isRestorable(restorable) ? { possible: true } : NOT_RESTORABLE;
    return this.#context.states.reversibilityOf(effects);
  }

  #limitsNear(principal: Principal): Rehearsal['limits'] {
    return this.#context.rateLimiter.left(principal).filter(({ left, calls }) => left <= calls * NEAR_SHARE);
  }
}

const NOT_RESTORABLE: Reversibility = { possible: false, reason: 'No call is known that would bring back what is there now' };

function isRestorable(restorable: Restorable): boolean {
  const now = restorable.now();
  return now !== undefined && restorable.restore(now) !== undefined;
}

/** Returns what a call and the calls inside it change that is no value of a device, each once. */
function placesOf({ tool, params }: RehearsedCall, calls: readonly Rehearsal[]): readonly string[] {
  const own = tool.restorable?.(params)?.path;
  return [...new Set([...(own === undefined ? [] : [own]), ...calls.flatMap(({ places = [] }) => places)])];
}

/** Returns the outcome of a call with the calls inside it: the one that is the least good. */
function worstOutcome(own: Rehearsal['outcome'], calls: readonly Rehearsal[]): Rehearsal['outcome'] {
  const order: readonly Rehearsal['outcome'][] = ['would_run', 'not_known', 'needs_approval', 'would_be_refused'];
  return [own, ...calls.map(({ outcome }) => outcome)].toSorted((a, b) => order.indexOf(b) - order.indexOf(a))[0] ?? own;
}

function reversibilityOfAll(calls: readonly Rehearsal[]): Reversibility {
  const lasting = calls.find(({ undo }) => !undo.possible);
  return lasting ? { possible: false, reason: `${lasting.tool}: ${lasting.undo.reason}` } : { possible: true };
}

function notKnown(tool: string, reason: string): Rehearsal {
  return { ...NOTHING, tool, outcome: 'not_known', undo: { possible: false, reason } };
}

/** Asks the hub that would run the call to rehearse it. An older hub cannot; then it is told that only that hub knows. */
async function rehearsedAt(hub: RouteCandidate, call: RehearsedCall, context: StageContext): Promise<Rehearsal> {
  const tool = context.registry.get(REHEARSE_TOOL_ID);
  if (!tool) return notKnown(call.tool.id, 'It would run on another hub');
  const { running, request } = call;
  const { deadline, requestId, traceId } = running;
  try {
    const { result, nodeId } = await context.router.forward(hub.id, {
      principal: request.principal,
      tool,
      params: { tool: call.tool.id, params: call.params },
      requestId,
      traceId,
      mode: 'sync',
      untilMs: deadline.untilMs,
      hopBudget: 0,
      signal: deadline.signal,
    });
    return { ...parsedRehearsal(copyJsonObject(result, RESULT_LIMITS)), node_id: nodeId };
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    if (code !== 'TOOL_NOT_FOUND' && code !== 'RESULT_INVALID') throw thrown;
    return { ...notKnown(call.tool.id, `The hub ${hub.name} would run it and cannot rehearse calls: ${message}`), node_id: hub.id };
  }
}

/** Returns the answer of another hub, whose schema was checked there. Throws RESULT_INVALID if it is no rehearsal. */
function parsedRehearsal(answer: JsonObject): Rehearsal {
  const lists = ['effects', 'changes', 'limits', 'skipped', 'calls'];
  const isWhole = lists.every((name) => Array.isArray(answer[name])) && isJsonObject(answer.undo);
  if (isWhole && REHEARSAL_OUTCOMES.some((outcome) => outcome === answer.outcome)) return answer as unknown as Rehearsal;
  throw new AtmoError('RESULT_INVALID', 'the answer of the other hub is no rehearsal');
}
