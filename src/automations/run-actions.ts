import type { CallAnswer, CallRequest, ToolCaller } from '../calls/request-and-answer.ts';
import type { Principal } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { AtmoError, type ErrorBody } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { atWallTime } from '../core/local-time.ts';
import type { Action } from './automation-schema.ts';
import { fillReferences } from './parse-automation.ts';

/** The parts of the hub that the actions of a run use. */
export interface RunPorts extends Pick<HubContext, 'clock' | 'events'> {
  readonly pipeline: Pick<ToolCaller, 'call'>;
}

/** One run: its principal, the facts of its trigger, and the signal that cancels it. */
export interface Run {
  readonly id: string;
  readonly principal: Principal;
  readonly facts: JsonObject;
  readonly signal: AbortSignal;
}

/** The end of a run; `error` is the last error of its actions. */
export interface RunOutcome {
  readonly isStopped: boolean;
  readonly error?: Pick<ErrorBody, 'code' | 'message'>;
}

/**
 * Calls the tools of a run one after the other. Each call has the run's id as trace id and its own idempotency key, so that a retry cannot
 * act twice. If a call needs approval, waits for the decision, and makes an approved call again.
 */
export async function runActions(actions: readonly Action[], run: Run, ports: RunPorts): Promise<RunOutcome> {
  using decisions = new DecisionListener(ports.events, ports.clock);
  let outcome: RunOutcome = { isStopped: false };
  for (const [index, action] of actions.entries()) {
    const request = requestOf(action, index, run);
    const first = await ports.pipeline.call(request);
    const answer = (await isApproved(first, decisions, run.signal)) ? await ports.pipeline.call(request) : first;
    if (answer.status === 'success') continue;
    const { code, message } = answer.error;
    outcome = { isStopped: action.on_error === 'stop' || run.signal.aborted, error: { code, message: `${action.tool}: ${message}` } };
    if (outcome.isStopped) return outcome;
  }
  return outcome;
}

function requestOf(action: Action, index: number, run: Run): CallRequest {
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

/** If the answer asks for approval, waits for the decision and returns whether it is an approval. Otherwise returns false. */
async function isApproved(answer: CallAnswer, decisions: DecisionListener, signal: AbortSignal): Promise<boolean> {
  if (answer.status === 'success' || answer.error.code !== 'APPROVAL_REQUIRED') return false;
  const { approval_id: approvalId, expires_at: expiresAt } = answer.error.details;
  if (typeof approvalId !== 'string' || typeof expiresAt !== 'string') return false;
  return decisions.isApproved(approvalId, Date.parse(expiresAt), signal);
}

/** Returns a fact of the trigger. The fact exists, because the check of the configuration allows only facts that all its triggers have. */
function factOf({ facts }: Run, name: string) {
  const fact = Object.hasOwn(facts, name) ? facts[name] : undefined;
  if (fact === undefined) throw new AtmoError('INTERNAL_ERROR', `The trigger has no fact ${name}`);
  return isJsonObject(fact) ? { ...fact } : fact;
}

/** Longest wait for an approval. */
const LONGEST_WAIT_MS = 3_600_000;

/** Collects the decisions of approvers during a run. Listens from the start, because a decision may come before the wait begins. */
class DecisionListener implements Disposable {
  readonly #clock: Clock;
  readonly #decided = new Map<string, boolean>();
  readonly #waiting = new Map<string, (isApproved: boolean) => void>();
  readonly #stop: () => void;

  constructor(events: EventBus, clock: Clock) {
    this.#clock = clock;
    this.#stop = events.listen(({ subject, data }) => this.#onDecision(subject, data.state), ['approval.decided']);
  }

  /** Resolves to true if the request is approved. Resolves to false if it is denied or expires, the run is aborted, or an hour passes. */
  async isApproved(approvalId: string, expiresAtMs: number, signal: AbortSignal): Promise<boolean> {
    const known = this.#decided.get(approvalId);
    if (known !== undefined || signal.aborted) return known ?? false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.set(approvalId, resolve);
    const giveUp = () => resolve(false);
    const untilMs = Math.min(expiresAtMs, this.#clock.now() + LONGEST_WAIT_MS);
    const cancelTimer = atWallTime(this.#clock, untilMs, giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await promise;
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', giveUp);
      this.#waiting.delete(approvalId);
    }
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  /** Handles a decision. The state `pending` does not end the wait: it means that more persons must approve. */
  #onDecision(approvalId: string, state: Json | undefined): void {
    if (state !== 'approved' && state !== 'denied' && state !== 'expired') return;
    this.#decided.set(approvalId, state === 'approved');
    this.#waiting.get(approvalId)?.(state === 'approved');
  }
}
