import type { Principal } from '../../core/access/principal.ts';
import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { CallAnswer, CallRequest } from '../../tools/calls/call-answer.ts';
import type { CallPipeline } from '../../tools/calls/call-pipeline.ts';
import type { Action } from './automation-config.ts';
import { DecisionEar } from './decision-ear.ts';
import { fillReferences } from './reference.ts';

/** Port: the pipeline that every action goes through. */
export type CallPort = Pick<CallPipeline, 'call'>;

/** Whom the actions of a run work with. */
export interface RunPorts {
  readonly pipeline: CallPort;
  readonly events: EventBus;
  readonly clock: Clock;
}

/** One run: who acts, what set it off, and what ends it early. */
export interface Run {
  readonly id: string;
  readonly principal: Principal;
  readonly facts: JsonObject;
  readonly signal: AbortSignal;
}

/** How a run ended; the error is the last one that any action gave. */
export interface RunOutcome {
  readonly isStopped: boolean;
  readonly error?: Pick<ErrorBody, 'code' | 'message'>;
}

/**
 * Calls the tools of a run one after the other. Each call has the run's id as trace id and a key of its own, so that
 * nothing that retries it can act twice. A dangerous call waits for people and is then made once more.
 */
export async function runActions(actions: readonly Action[], run: Run, ports: RunPorts): Promise<RunOutcome> {
  using ear = new DecisionEar(ports.events, ports.clock);
  let outcome: RunOutcome = { isStopped: false };
  for (const [index, action] of actions.entries()) {
    const answer = await callWithApproval(requestOf(action, index, run), ports.pipeline, ear);
    if (answer.status === 'success') continue;
    const { code, message } = answer.error;
    outcome = { isStopped: action.on_error === 'stop' || run.signal.aborted, error: { code, message: `${action.tool}: ${message}` } };
    if (outcome.isStopped) return outcome;
  }
  return outcome;
}

function requestOf(action: Action, index: number, run: Run): CallRequest & { readonly signal: AbortSignal } {
  return {
    principal: run.principal,
    tool: action.tool,
    params: fillReferences(action.params, 'trigger', (name) => factOf(run, name)),
    ...(action.timeout_ms !== undefined && { timeoutMs: action.timeout_ms }),
    idempotencyKey: `${run.id}:${index}`,
    traceId: run.id,
    sessionId: run.id,
    signal: run.signal,
    isOwn: true,
  };
}

async function callWithApproval(
  request: CallRequest & { readonly signal: AbortSignal },
  pipeline: CallPort,
  ear: DecisionEar,
): Promise<CallAnswer> {
  const answer = await pipeline.call(request);
  if (answer.status === 'success' || answer.error.code !== 'APPROVAL_REQUIRED') return answer;
  const { approval_id: approvalId, expires_at: expiresAt } = answer.error.details;
  if (typeof approvalId !== 'string' || typeof expiresAt !== 'string') return answer;
  const isApproved = await ear.isApproved(approvalId, Date.parse(expiresAt), request.signal);
  return isApproved ? pipeline.call(request) : answer;
}

/** The configuration was checked against what its triggers tell. */
function factOf({ facts }: Run, name: string) {
  const fact = Object.hasOwn(facts, name) ? facts[name] : undefined;
  if (fact === undefined) throw new AtmoError('INTERNAL_ERROR', `The trigger tells no ${name}`);
  return isJsonObject(fact) ? { ...fact } : fact;
}
