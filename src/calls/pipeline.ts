import { maxRisk, type Principal } from '../core/auth/principal.ts';
import { AtmoError, ERROR_CODES, type ErrorBody, toAtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { InnerCall, RegisteredTool } from '../tools/definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../tools/schema/plain-json.ts';
import { withoutSecretTexts } from '../tools/schema/secrets.ts';
import {
  type ApprovedCall,
  type CallFacts,
  isElsewhere,
  type QueuedCall,
  type RepeatedCall,
  RunningCall,
  riskOf,
  secretsOf,
  toolIdOf,
} from './call.ts';
import { auditOutcome, CallAuditWriter, eventData, redactedError, storableAnswer } from './call-audit.ts';
import type { RunningJob } from './jobs/job-store.ts';
import { MAX_CALL_DEPTH, MAX_NESTED_CALLS, tooManyCalls } from './limits.ts';
import { type PipelineCollaborators, type PipelineOptions, type StageContext, stageContext } from './pipeline-context.ts';
import { CallRehearser } from './rehearsal.ts';
import {
  type AsyncAnswer,
  type CallAnswer,
  type CallRequest,
  errorAnswer,
  type JobView,
  type NormalResult,
  type Preflight,
  type Rehearsal,
  successAnswer,
  type ToolCaller,
} from './request-and-answer.ts';
import { obstacleTo, permanentObstacleTo } from './routing/call-route.ts';
import { isOffered, memoizedAuthorizer } from './stages/authorization.ts';
import { ADMISSION, CONSENT, EXECUTION, JOB, PREFLIGHT, REHEARSAL, REMOTE_JOB, type StageList, TOOL_PREFLIGHT } from './stages.ts';
import type { UsageCounter } from './usage.ts';

/** The pipeline through which every server runs tool calls; the stages are in stages.ts. */
export class CallPipeline implements ToolCaller {
  readonly #context: StageContext;
  readonly #logsCalls: boolean;
  readonly #usage: UsageCounter;
  readonly #auditWriter: CallAuditWriter;
  readonly #rehearser: CallRehearser;
  readonly #calls = new Set<RunningCall>();
  readonly #open = new Set<Promise<unknown>>();
  #isDraining = false;

  constructor(collaborators: PipelineCollaborators, options: PipelineOptions) {
    this.#usage = collaborators.usage;
    this.#logsCalls = options.logCalls;
    this.#context = stageContext(collaborators, options, () => this.#isDraining);
    const { audit, clock, time } = this.#context;
    this.#auditWriter = new CallAuditWriter({ audit, clock, time });
    this.#rehearser = new CallRehearser(this.#context, (call, context) => REHEARSAL.run(call, context));
  }

  call(request: CallRequest): Promise<CallAnswer> {
    return this.#track(this.#callNow(this.#begin(request, 'sync')));
  }

  callAsync(request: CallRequest): Promise<AsyncAnswer> {
    return this.#track(this.#startJob(this.#begin(request, 'job')));
  }

  /**
   * Runs a job that waited for approval, through all stages from the first one on. If the call still needs approval, or the hub is stopping,
   * the job goes on waiting. Any other refusal ends the job.
   */
  resumeJob(request: CallRequest, job: RunningJob): Promise<void> {
    const call = this.#begin(request, 'job');
    call.job = job;
    return this.#track(this.#resumeNow(call));
  }

  rehearse(request: CallRequest): Promise<Rehearsal> {
    return this.#track(this.#rehearser.rehearse(request));
  }

  preflight(request: CallRequest): Promise<Preflight> {
    return new RecursivePreflight((asked) => this.#judge(asked)).run(request);
  }

  preflightTool(request: Omit<CallRequest, 'params'>): Promise<Preflight> {
    return new RecursivePreflight((asked) => this.#judge(asked)).run({ ...request, params: undefined });
  }

  offeredTo(principal: Principal): (tool: RegisteredTool) => boolean {
    const { features, disabledTools } = this.#context;
    const authorizer = memoizedAuthorizer(this.#context.authorizer);
    return (tool) => isOffered(tool, principal, { authorizer, features, disabledTools });
  }

  obstacleTo(tool: RegisteredTool, when: 'now' | 'ever' = 'now'): string | undefined {
    return when === 'ever' ? permanentObstacleTo(tool, this.#context) : obstacleTo(tool, this.#context);
  }

  /** Aborts the calls of principals for which `isEnded` is true. They end with CANCELLED, or OUTCOME_UNKNOWN if they may have acted. */
  abortCallsOf(isEnded: (principal: Principal) => boolean): void {
    for (const call of this.#calls) if (isEnded(call.request.principal)) call.abort('revoked');
  }

  /**
   * Refuses new calls, and waits at most `timeoutMs` for running calls. Calls that wait for a person end at once, with SHUTTING_DOWN.
   * Returns true if all calls ended in time. Otherwise aborts the remaining calls and returns false. Aborted calls end with CANCELLED, or
   * with OUTCOME_UNKNOWN if they may have taken effect.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#isDraining = true;
    for (const call of this.#calls) call.abortQuestions();
    const timeUp = Promise.withResolvers<false>();
    const stop = this.#context.clock.after(timeoutMs, () => timeUp.resolve(false));
    const allDone = Promise.allSettled([...this.#open]).then(() => true);
    const isDone = await Promise.race([allDone, timeUp.promise]);
    stop();
    if (!isDone) for (const call of this.#calls) call.abort('stopping');
    return isDone;
  }

  async #judge({ params, ...asked }: PreflightRequest): Promise<PreflightStep> {
    const request = { ...asked, params: params ?? {} };
    const call = new RunningCall(request, 'sync', this.#context);
    const judged = await (params === undefined ? this.#pass(TOOL_PREFLIGHT, call.facts) : this.#pass(PREFLIGHT, call.facts));
    call.end();
    if (judged instanceof AtmoError)
      return { verdict: { allowed: false, error: redactedError(call.facts, judged).toBody() }, innerCalls: [] };
    const innerCalls = judged.tool.innerCalls?.(params === undefined ? undefined : judged.params) ?? [];
    return { verdict: { allowed: true, risk: riskOf(judged), effects: judged.effects }, innerCalls };
  }

  #begin(request: CallRequest, mode: RunningCall['mode']): RunningCall {
    const call = new RunningCall(request, mode, this.#context);
    this.#calls.add(call);
    call.onEnd(() => this.#calls.delete(call));
    return call;
  }

  async #callNow(call: RunningCall): Promise<CallAnswer> {
    const admitted = await this.#admit(call);
    if (admitted instanceof AtmoError) return this.#finish(call, admitted);
    if (admitted.repeated) return (await this.#endRepeated(admitted)) as unknown as CallAnswer;
    return this.#finish(call, await this.#pass(EXECUTION, admitted));
  }

  async #startJob(call: RunningCall): Promise<AsyncAnswer> {
    const admitted = await this.#admit(call);
    if (admitted instanceof AtmoError) return this.#refuseJob(call, admitted);
    if (admitted.repeated) return { kind: 'job', job: (await this.#endRepeated(admitted)) as unknown as JobView };
    if (isElsewhere(admitted)) return this.#startElsewhere(admitted);
    const queued = await this.#pass(JOB, admitted);
    if (queued instanceof AtmoError) return this.#refuseJob(call, queued);
    void this.#track(this.#runJob(queued).catch((failure: unknown) => this.#logBug(call, toAtmoError(failure))));
    return { kind: 'job', job: queued.job.view };
  }

  async #runJob(queued: QueuedCall): Promise<void> {
    const { running, job } = queued;
    const outcome = await this.#pass(EXECUTION, queued);
    const answer = await this.#finish(running, outcome);
    job.settle(answer, secretsOf(running.facts));
  }

  async #resumeNow(call: RunningCall): Promise<void> {
    const admitted = await this.#admit(call);
    if (admitted instanceof AtmoError) await this.#refuseJob(call, admitted);
    else if (admitted.repeated) call.end();
    else {
      const queued = await this.#pass(JOB, admitted);
      if (queued instanceof AtmoError) await this.#refuseJob(call, queued);
      else await this.#runJob(queued);
    }
  }

  /** Starts a job on the hub that has the tool. This hub stores the job's location. */
  async #startElsewhere(admitted: ApprovedCall): Promise<AsyncAnswer> {
    const call = admitted.running;
    const started = await this.#pass(REMOTE_JOB, admitted);
    if (started instanceof AtmoError) return this.#refuseJob(call, started);
    const view = copyJsonObject(started.remoteJob, RESULT_LIMITS);
    call.settleClaim(view, view);
    await this.#finish(call, started);
    return { kind: 'job', job: started.remoteJob };
  }

  /** Ends a call that was refused. A job that waits for approval goes on waiting, and the caller gets this job. */
  async #refuseJob(call: RunningCall, error: AtmoError): Promise<AsyncAnswer> {
    const { job } = call;
    if (job?.view.status === 'waiting' && (error.code === 'APPROVAL_REQUIRED' || error.code === 'SHUTTING_DOWN')) {
      if (typeof error.details.expires_at === 'string') job.waitsUntil(error.details.expires_at);
      const view = copyJsonObject(job.view, RESULT_LIMITS);
      call.settleClaim(view, view);
      await this.#finish(call, error);
      return { kind: 'job', job: job.view };
    }
    const answer = await this.#finish(call, error);
    job?.settle(answer, secretsOf(call.facts));
    return { kind: 'refused', answer };
  }

  async #admit(call: RunningCall): Promise<ApprovedCall | RepeatedCall | AtmoError> {
    const claimed = await this.#pass(ADMISSION, call.facts);
    return claimed instanceof AtmoError || claimed.repeated ? claimed : this.#pass(CONSENT, claimed);
  }

  /** Runs stages in order. Returns the call after the last stage, or the error of the first stage that refuses it. */
  async #pass<In extends CallFacts, Out extends CallFacts>(stages: StageList<In, Out>, call: In): Promise<Out | AtmoError> {
    try {
      return await stages.run(call, this.#context);
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (error.code === 'INTERNAL_ERROR') this.#logBug(call.running, error);
      return error;
    }
  }

  async #finish(call: RunningCall, outcome: AtmoError | { readonly result: NormalResult }): Promise<CallAnswer> {
    const answer = this.#answer(call, outcome);
    call.end();
    const { approval } = call.facts;
    if (approval && !call.isDispatched) await this.#logged(call, () => this.#context.approvals.giveBack(approval.id));
    const isRepeatable = answer.status === 'error' && (!call.isDispatched || ERROR_CODES[answer.error.code].retry === 'later');
    // If the outcome cannot be written, the error is logged. The caller still gets the answer, since the call has run.
    await this.#logged(call, () => this.#auditWriter.record(auditOutcome(call.facts, answer, this.#context)));
    if (call.claim) {
      const stored = () => (isRepeatable ? undefined : storableAnswer(call.facts, answer));
      await this.#logged(call, () => call.settleClaim(copyJsonObject(answer, RESULT_LIMITS), stored()));
    }
    this.#log(call, answer);
    this.#emit(call, answer);
    return answer;
  }

  /** Runs `work` after the end of a call. Logs an error of `work` instead of throwing it. */
  async #logged(call: RunningCall, work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (failure) {
      this.#logBug(call, toAtmoError(failure));
    }
  }

  #answer(call: RunningCall, outcome: AtmoError | { readonly result: NormalResult }): CallAnswer {
    const { ranOn } = call;
    const facts = {
      requestId: call.requestId,
      traceId: call.traceId,
      nodeId: ranOn?.id ?? this.#context.self.id,
      nowMs: this.#context.time.now(),
      durationMs: this.#context.clock.monotonic() - call.startedMs,
      hops: ranOn?.hops ?? 0,
      contentType: call.contentType,
      details: call.resultDetails,
    };
    return outcome instanceof AtmoError ? errorAnswer(facts, redactedError(call.facts, outcome)) : successAnswer(facts, outcome.result);
  }

  async #endRepeated(call: RepeatedCall): Promise<JsonObject> {
    call.running.end();
    await this.#logged(call.running, () => this.#auditWriter.recordRepeat(call));
    return call.repeated;
  }

  #log({ facts, request, traceId }: RunningCall, answer: CallAnswer): void {
    if (!this.#logsCalls) return;
    this.#context.logger.info('call.finished', {
      tool: toolIdOf(facts),
      agent: request.principal.id,
      status: answer.status,
      ...(answer.status === 'error' && { code: answer.error.code }),
      duration_ms: answer.execution.duration_ms,
      trace_id: traceId,
    });
  }

  #emit({ facts, request }: RunningCall, answer: CallAnswer): void {
    // This hub emits no event about the end of a remote job: the hub that runs the job emits it.
    if (!facts.tool || facts.remoteJob) return;
    const toolId = facts.tool.id;
    const durationMs = answer.execution.duration_ms;
    const data = { ...eventData(facts), duration_ms: durationMs, response_hash: answer.response_hash };
    const { clock, events } = this.#context;
    if (answer.status === 'success') events.emit('agi.tool.result', toolId, data);
    else events.emit('agi.tool.failed', toolId, { ...data, code: answer.error.code });
    const record = { toolId, agentId: request.principal.id, atMs: clock.now(), durationMs };
    this.#usage.record(answer.status === 'error' ? { ...record, error: answer.error.code } : record);
  }

  #logBug({ facts, traceId }: RunningCall, error: AtmoError): void {
    // STORAGE_FAILED is no bug: the store has already logged the disk error, and the hub's health status shows it.
    if (error.code === 'STORAGE_FAILED') return;
    const stack = withoutSecretTexts((error.cause instanceof Error ? error.cause.stack : error.stack) ?? '', secretsOf(facts));
    this.#context.logger.error('tool.handler_failed', { tool: toolIdOf(facts), trace_id: traceId, stack });
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const open = work.finally(() => this.#open.delete(open));
    this.#open.add(open);
    return open;
  }
}

/** A request to check a call without running it. `params` is absent if the parameters are unknown. */
type PreflightRequest = Omit<CallRequest, 'params'> & { readonly params?: unknown };

/** The verdict about one call alone, and the inner calls of that call, which still have to be checked. */
interface PreflightStep {
  readonly verdict: Preflight;
  readonly innerCalls: readonly InnerCall[];
}

/**
 * Checks a call and then its inner calls in order, without running them. Stops at the first call that would be refused. Without this check,
 * a composed call could stop halfway and wait for an approval.
 */
class RecursivePreflight {
  readonly #judge: (asked: PreflightRequest) => Promise<PreflightStep>;
  #callsLeft = MAX_NESTED_CALLS;

  constructor(judge: (asked: PreflightRequest) => Promise<PreflightStep>) {
    this.#judge = judge;
  }

  async run(asked: PreflightRequest, depth = 0): Promise<Preflight> {
    const { verdict, innerCalls } = await this.#judge(asked);
    if (!verdict.allowed || innerCalls.length === 0) return verdict;
    if (depth === MAX_CALL_DEPTH) return tooMany(asked.tool);
    let whole = verdict;
    for (const inner of innerCalls) {
      this.#callsLeft -= 1;
      if (this.#callsLeft < 0) return tooMany(asked.tool);
      const below = await this.run(innerRequest(asked, inner), depth + 1);
      if (!below.allowed) return { allowed: false, error: errorOfInnerCall(asked.tool, inner.tool, below.error) };
      whole = { allowed: true, risk: maxRisk(whole.risk, below.risk), effects: [...whole.effects, ...below.effects] };
    }
    return whole;
  }
}

/** Returns the request for an inner call. The routing preferences and the time limit of the outer call are not passed on. */
function innerRequest({ principal, traceId, sessionId, signal, within }: PreflightRequest, { tool, params }: InnerCall): PreflightRequest {
  return {
    principal,
    tool,
    ...(params && { params }),
    ...(traceId !== undefined && { traceId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(signal && { signal }),
    ...(within && { within }),
  };
}

function errorOfInnerCall(outer: string, inner: string, error: ErrorBody): ErrorBody {
  return { ...error, message: `${outer} would call ${inner}: ${error.message}` };
}

function tooMany(tool: string): Preflight {
  return { allowed: false, error: tooManyCalls(tool).toBody() };
}
