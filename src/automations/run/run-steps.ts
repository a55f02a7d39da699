import type { CallAnswer, CallRequest, ToolCaller } from '../../calls/request-and-answer.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { isoTime, pause } from '../../core/clock.ts';
import { AtmoError, type ErrorBody, invalidInput, toAtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import { isJsonObject, type Json, type JsonObject, objectOf } from '../../core/json.ts';
import type { Questions } from '../../core/questions.ts';
import type { Condition } from '../plan/condition-schema.ts';
import { fillReferences } from '../plan/references.ts';
import {
  type Action,
  type AskStep,
  type ChooseStep,
  isAction,
  type ParallelStep,
  type RepeatStep,
  type Step,
  type TypedStep,
  type WaitStep,
  type WaitUntilStep,
} from '../plan/step-schema.ts';
import type { WatchPorts } from '../triggers/watch.ts';
import { type ConditionPorts, conditionsHold, evaluate, type RunValues } from './condition-check.ts';
import { untilTrue } from './condition-wait.ts';
import { answerTo, DecisionListener } from './people-answers.ts';
import type { LoggedWait, RunLog } from './run-log.ts';
import type { FailedStep, Flow, RunNotes, RunOutcome } from './run-notes.ts';
import { callOfStep, type HouseCallStep, keptResult } from './step-calls.ts';

/** The parts of the hub that the steps of a run use. */
export interface RunPorts extends ConditionPorts, Pick<WatchPorts, 'index' | 'time'> {
  readonly events: Pick<EventBus, 'listen'>;
  readonly pipeline: Pick<ToolCaller, 'call'>;
  readonly questions: Pick<Questions, 'get' | 'end' | 'onEnd'>;
}

/** One run: its principal, the facts of its trigger, how far it got, and the signal that cancels it. */
export interface Run {
  readonly id: string;
  readonly principal: Principal;
  readonly facts: JsonObject;
  readonly parameters: JsonObject;
  readonly log: RunLog;
  readonly notes: RunNotes;
  readonly signal: AbortSignal;
  /** Throws PERMISSION_DENIED if the agent may no longer look at what the automation looks at. */
  requireObservable(): void;
}

/**
 * Does the steps of a run one after the other. Each call has the run's id as trace id and its own idempotency key, so that a retry cannot act
 * twice. If a call needs approval, waits for the decision, and makes an approved call again.
 */
export async function runSteps(steps: readonly Step[], run: Run, ports: RunPorts): Promise<RunOutcome> {
  using decisions = new DecisionListener(ports.events, ports.clock);
  return await new StepRunner(run, ports, decisions).run(steps);
}

/** A wait that has begun: when it ends, how late it may end, and what is left of it. */
interface StepWait extends LoggedWait {
  readonly lateMs: number;
  readonly leftMs: number;
}

/** Longest time for which a run that a restart interrupted waits for a trusted time, and how often it looks for one, in milliseconds. */
export const TRUST_LIMIT_MS = 600_000;
export const TRUST_POLL_MS = 5_000;

function requireNotLate({ dueMs, lateMs }: Pick<StepWait, 'dueMs' | 'lateMs'>, nowMs: number): void {
  if (nowMs - dueMs <= lateMs) return;
  const when = `The hub was off at ${isoTime(dueMs)}, when a wait of the run ended`;
  throw new AtmoError('TIMEOUT', `${when}; the steps after it were not done so late (late_seconds: ${lateMs / 1000})`);
}

/** Returns the error of a run of which nobody knows whether a wait until `dueMs` is over. */
export function timeNotKnown(dueMs: number): AtmoError {
  const why = `The hub was restarted during a wait of the run until ${isoTime(dueMs)} and does not know the time`;
  return new AtmoError('TIMEOUT', `${why}; the steps after it were not done, because they might have been late`);
}

/** Does the steps of one run. A step is named by its place, such as `1/options/0/2`, in the log and in idempotency keys. */
class StepRunner {
  readonly #run: Run;
  readonly #ports: RunPorts;
  readonly #decisions: DecisionListener;
  #error: RunOutcome['error'];
  /** The answers to questions of this run, by name. */
  readonly #answers: Record<string, Json> = {};

  constructor(run: Run, ports: RunPorts, decisions: DecisionListener) {
    this.#run = run;
    this.#ports = ports;
    this.#decisions = decisions;
  }

  async run(steps: readonly Step[]): Promise<RunOutcome> {
    const flow = await this.#all(steps, '');
    return { flow, isStopped: flow === 'fail' || this.#run.signal.aborted, ...(this.#error && { error: this.#error }) };
  }

  async #all(steps: readonly Step[], place: string): Promise<Flow> {
    for (const [index, step] of steps.entries()) {
      if (this.#run.signal.aborted) return 'fail';
      const path = `${place}${index}`;
      const flow = isAction(step) ? await this.#call(step, path) : await this.#typed(step, path);
      if (flow !== 'continue') return flow;
    }
    return 'continue';
  }

  #typed(step: TypedStep, path: string): Promise<Flow> {
    switch (step.type) {
      case 'wait':
        return this.#wait(step, path);
      case 'wait_until':
        return this.#waitUntil(step, path);
      case 'choose':
        return this.#choose(step, path);
      case 'repeat':
        return this.#repeat(step, path);
      case 'parallel':
        return this.#parallel(step, path);
      case 'ask':
        return this.#ask(step, path);
      default:
        return this.#houseCall(step, path);
    }
  }

  async #call(action: Action, path: string): Promise<Flow> {
    return this.#flowAfter(action, path, objectOf(await this.#made(action, path)));
  }

  /** Makes a call once, and returns its result or its error. */
  #made(action: Action, path: string): Promise<Json> {
    return this.#run.log.called(path, () => this.#answerOf(action, path));
  }

  #flowAfter(action: Action, path: string, { error }: JsonObject): Flow {
    if (!isJsonObject(error)) return 'continue';
    const failure = error as unknown as Pick<ErrorBody, 'code' | 'message'>;
    this.#error = failure;
    this.#run.notes.noteFailed({ step: path, tool: action.tool, code: failure.code, message: failure.message });
    return action.on_error === 'stop' || this.#run.signal.aborted ? 'fail' : 'continue';
  }

  /** Makes a call. Returns what later steps need of its result, or its error, so that a run that goes on after a restart knows of it. */
  async #answerOf(action: Action, path: string): Promise<JsonObject> {
    try {
      const request = this.#request(action, path);
      const first = await this.#ports.pipeline.call(request);
      const answer = (await this.#isApproved(first, { step: path, tool: action.tool })) ? await this.#ports.pipeline.call(request) : first;
      if (answer.status === 'success') return keptResult(action, answer.result);
      return { error: { code: answer.error.code, message: `${action.tool}: ${answer.error.message}` } };
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      return { error: { code, message: `${action.tool}: ${message}` } };
    }
  }

  #request(action: Action, path: string): CallRequest {
    const { id, principal, signal } = this.#run;
    return {
      principal,
      tool: action.tool,
      params: objectOf(this.#filled(action.params)),
      ...(action.timeout_ms !== undefined && { timeoutMs: action.timeout_ms }),
      idempotencyKey: `${id}:${path}`,
      traceId: id,
      sessionId: id,
      signal,
      isOwn: true,
    };
  }

  /** If the answer asks for approval, waits for the decision and returns whether it is an approval. Otherwise returns false. */
  async #isApproved(answer: CallAnswer, step: Pick<FailedStep, 'step' | 'tool'>): Promise<boolean> {
    if (answer.status === 'success' || answer.error.code !== 'APPROVAL_REQUIRED') return false;
    const { approval_id: approvalId, expires_at: expiresAt } = answer.error.details;
    if (typeof approvalId !== 'string' || typeof expiresAt !== 'string') return false;
    const { signal, notes } = this.#run;
    return (await notes.awaitDecision(step, this.#decisions.decisionAbout(approvalId, Date.parse(expiresAt), signal))) === 'approved';
  }

  async #houseCall(step: HouseCallStep, path: string): Promise<Flow> {
    return this.#call(callOfStep(step, this.#ports.clock.now()), path);
  }

  async #wait({ seconds, late_seconds: lateSeconds }: WaitStep, path: string): Promise<Flow> {
    const { log, signal } = this.#run;
    if (log.resultOf(path) !== undefined) return 'continue';
    const wait = this.#beginWait(path, { lengthMs: seconds * 1000, lateMs: lateSeconds * 1000 });
    await pause(this.#ports.clock, wait.leftMs, signal);
    await this.#requireInTime(wait);
    return this.#endWait(path, true);
  }

  async #waitUntil(step: WaitUntilStep, path: string): Promise<Flow> {
    const { log, signal } = this.#run;
    if (log.resultOf(path) === undefined) {
      const wait = this.#beginWait(path, { lengthMs: step.timeout_seconds * 1000, lateMs: step.late_seconds * 1000 });
      const { leftMs } = wait;
      const holds = await untilTrue(() => this.#hold(step.conditions), { conditions: step.conditions, leftMs, signal }, this.#ports);
      await this.#requireInTime(wait);
      if (this.#endWait(path, holds) !== 'continue') return 'fail';
    }
    if (log.resultOf(path) === true || step.on_timeout === 'continue') return 'continue';
    this.#error = { code: 'TIMEOUT', message: `What the run waited for did not come within ${step.timeout_seconds} s` };
    return 'end';
  }

  async #ask(step: AskStep, path: string): Promise<Flow> {
    const { log, signal } = this.#run;
    if (log.resultOf(path) === undefined) {
      const call = callOfStep(step, this.#ports.clock.now());
      const asked = objectOf(await this.#made(call, `${path}/question`));
      if (this.#flowAfter(call, path, asked) !== 'continue') return 'fail';
      const wait = this.#beginWait(path, { lengthMs: step.timeout_seconds * 1000, lateMs: step.late_seconds * 1000 });
      const answered = answerTo(String(asked.question_id), { leftMs: wait.leftMs, signal }, this.#ports);
      const answer = await this.#run.notes.awaitPeople({ step: path, tool: call.tool, awaits: 'answer' }, answered);
      await this.#requireInTime(wait);
      if (this.#endWait(path, answer) !== 'continue') return 'fail';
    }
    return this.#noteAnswer(step, log.resultOf(path));
  }

  /** Notes an answer for the steps that follow. `null` is none. */
  #noteAnswer(step: AskStep, answer: Json | undefined): Flow {
    this.#answers[step.name] = answer ?? step.timeout_answer ?? '';
    if (answer !== null || step.on_timeout !== 'stop') return 'continue';
    this.#error = { code: 'TIMEOUT', message: `Nobody answered the question within ${step.timeout_seconds} s` };
    return 'end';
  }

  /** Begins a wait and returns the milliseconds that are left. Throws TIMEOUT if it ended too long ago, while the hub was off. */
  #beginWait(path: string, { lengthMs, lateMs }: { readonly lengthMs: number; readonly lateMs: number }): StepWait {
    const nowMs = this.#ports.clock.now();
    const { dueMs, isResumed } = this.#run.log.beginWait(path, { nowMs, lengthMs });
    if (isResumed) requireNotLate({ dueMs, lateMs }, nowMs);
    // A clock that was set back while the hub was off makes no wait longer.
    return { dueMs, lateMs, isResumed, leftMs: Math.max(0, Math.min(lengthMs, dueMs - nowMs)) };
  }

  /**
   * Makes sure that a wait that a restart interrupted does not end too late. A board without a battery for its clock begins with the time of
   * the last stop, so the wait first waits for a trusted time. Throws TIMEOUT if the wait ended too long ago, or if no time is trusted.
   */
  async #requireInTime({ dueMs, lateMs, isResumed }: StepWait): Promise<void> {
    if (!isResumed) return;
    const { clock, time } = this.#ports;
    const beganMs = clock.monotonic();
    while (!time.isTrusted() && !this.#run.signal.aborted) {
      if (clock.monotonic() - beganMs >= TRUST_LIMIT_MS) throw timeNotKnown(dueMs);
      await pause(clock, TRUST_POLL_MS, this.#run.signal);
    }
    requireNotLate({ dueMs, lateMs }, clock.now());
  }

  /** Ends a wait, unless the run was cancelled: it may go on after a restart. */
  #endWait(path: string, result: Json): Flow {
    if (this.#run.signal.aborted) return 'fail';
    this.#run.log.endWait(path, result);
    return 'continue';
  }

  async #choose({ options, otherwise }: ChooseStep, path: string): Promise<Flow> {
    const chosen = this.#run.log.decided(path, () => options.findIndex(({ conditions }) => this.#hold(conditions)));
    const option = options[chosen];
    return option ? this.#all(option.actions, `${path}/options/${chosen}/`) : this.#all(otherwise, `${path}/otherwise/`);
  }

  async #repeat(step: RepeatStep, path: string): Promise<Flow> {
    for (let round = 0; round < (step.count ?? step.max); round++) {
      const { while: conditions } = step;
      if (conditions && !this.#run.log.decided(`${path}/${round}`, () => this.#hold(conditions))) return 'continue';
      const flow = await this.#all(step.actions, `${path}/${round}/`);
      if (flow !== 'continue') return flow;
    }
    return 'continue';
  }

  /** Does the branches at the same time. One that fails does not stop the others; the run fails when all have ended. */
  async #parallel({ branches }: ParallelStep, path: string): Promise<Flow> {
    const settled = await Promise.allSettled(branches.map((steps, index) => this.#all(steps, `${path}/branches/${index}/`)));
    const failed = settled.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    const flows = settled.map((one) => (one.status === 'fulfilled' ? one.value : 'fail'));
    return flows.includes('fail') ? 'fail' : flows.includes('end') ? 'end' : 'continue';
  }

  #hold(conditions: readonly Condition[]): boolean {
    this.#run.requireObservable();
    return conditionsHold(conditions, this.#values(), this.#ports);
  }

  #values(): RunValues {
    return { params: this.#run.parameters, trigger: this.#run.facts, answers: this.#answers };
  }

  /** Returns a value with the facts of the trigger and the values of expressions filled in. An expression within a fact is plain data. */
  #filled(value: Json): Json {
    return fillReferences(value, {
      trigger: (name) => this.#factOf(name),
      answer: (name) => this.#answerNamed(name),
      expr: (text) => this.#valueOf(text),
    });
  }

  #valueOf(text: string): Json {
    this.#run.requireObservable();
    return evaluate(text, this.#values(), this.#ports);
  }

  /** Returns the answer to a question of this run. Throws VALIDATION_ERROR if the question was not asked yet. */
  #answerNamed(name: string): Json {
    const answer = this.#answers[name];
    if (answer === undefined) throw invalidInput(`The run has no answer ${name}, because it did not ask before this step`);
    return answer;
  }

  /** Returns a fact of the trigger. The fact exists, because the check of the configuration allows only facts that all its triggers have. */
  #factOf(name: string): Json {
    const { facts } = this.#run;
    const fact = Object.hasOwn(facts, name) ? facts[name] : undefined;
    if (fact === undefined) throw new AtmoError('INTERNAL_ERROR', `The trigger has no fact ${name}`);
    return isJsonObject(fact) ? { ...fact } : fact;
  }
}
