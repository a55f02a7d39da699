import { type Effect, maxRisk, type Risk } from '../core/auth/authorizer.ts';
import type { Principal } from '../core/auth/principal.ts';
import { type AtmoError, ERROR_CODES, type ErrorBody, toAtmoError } from '../core/errors.ts';
import type { InnerCall, RegisteredTool } from '../tools/definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../tools/schema/plain-json.ts';
import { withoutSecretTexts } from '../tools/schema/secrets.ts';
import { Call } from './call.ts';
import { auditOutcome, CallAuditWriter, eventData, redactedError, storableAnswer } from './call-audit.ts';
import { startDeadline } from './call-time-limit.ts';
import type { JobView } from './jobs/job-store.ts';
import { isOffered, memoizedAuthorizer } from './offered-tools.ts';
import { type PipelineCollaborators, type PipelineOptions, type StageContext, stageContext } from './pipeline-context.ts';
import { type CallAnswer, type CallRequest, errorAnswer, successAnswer } from './request-and-answer.ts';
import { obstacleTo, permanentObstacleTo } from './routing/call-route.ts';
import { ADMISSION_STAGES, PREFLIGHT_STAGES, type Stage, TOOL_PREFLIGHT_STAGES } from './stages/admission.ts';
import { EXECUTION_STAGES, REMOTE_JOB_STAGES } from './stages/execution.ts';
import type { AgentUsage, ToolUsage, UsageCounter, UsageRecord } from './usage.ts';

/** A call as a job: the job at once, or the answer of a call that was refused. */
export type AsyncAnswer = { readonly kind: 'job'; readonly job: JobView } | { readonly kind: 'refused'; readonly answer: CallAnswer };

/** Whether a call would be let through as things are now, and what it would do. */
export type Preflight =
  | { readonly allowed: true; readonly risk: Risk; readonly effects: readonly Effect[] }
  | { readonly allowed: false; readonly error: ErrorBody };

/** The one way from every door to every tool (design 4). A call never throws: refusals and failures are answers. */
export class CallPipeline {
  readonly #context: StageContext;
  readonly #logsCalls: boolean;
  readonly #usage: UsageCounter;
  readonly #journal: CallAuditWriter;
  readonly #calls = new Set<Call>();
  readonly #open = new Set<Promise<unknown>>();
  #isDraining = false;

  constructor(collaborators: PipelineCollaborators, options: PipelineOptions = {}) {
    this.#usage = collaborators.usage;
    this.#logsCalls = options.logCalls ?? true;
    this.#context = stageContext(collaborators, options, () => this.#isDraining);
    const { audit, clock, nowMs } = this.#context;
    this.#journal = new CallAuditWriter({ audit, clock, nowMs });
  }

  /** Runs a call and waits for its answer. */
  call(request: CallRequest): Promise<CallAnswer> {
    return this.#track(this.#callNow(this.#begin(request, 'sync')));
  }

  /** Admits a call and runs it as a job of the caller; refusals are answered at once. */
  callAsync(request: CallRequest): Promise<AsyncAnswer> {
    return this.#track(this.#startJob(this.#begin(request, 'job')));
  }

  /**
   * Would this call be let through? Passes every check of a call but the rate limit, uses nothing up and runs nothing; asks
   * people for an approval that is needed. The calls that it is going to make are judged with it.
   */
  preflight(request: CallRequest): Promise<Preflight> {
    return new RecursivePreflight((asked) => this.#judge(asked)).run(request);
  }

  /** The same for a tool of which the parameters are not known yet: could any call of it be let through? */
  preflightTool(request: Omit<CallRequest, 'params'>): Promise<Preflight> {
    return new RecursivePreflight((asked) => this.#judge(asked)).run({ ...request, params: undefined });
  }

  /** Tools of which the caller may make some call; lists and searches show these alone. */
  offeredTo(principal: Principal): (tool: RegisteredTool) => boolean {
    const { features, disabledTools } = this.#context;
    const authorizer = memoizedAuthorizer(this.#context.authorizer);
    return (tool) => isOffered(tool, principal, { authorizer, features, disabledTools });
  }

  /** Why no call of a tool would run `now`, or `ever` as the hubs are, whoever made it; undefined where one would. */
  obstacleTo(tool: RegisteredTool, when: 'now' | 'ever' = 'now'): string | undefined {
    return when === 'ever' ? permanentObstacleTo(tool, this.#context) : obstacleTo(tool, this.#context);
  }

  /** Ends the calls of principals that may no longer make them: CANCELLED, or OUTCOME_UNKNOWN for what may have acted. */
  abortCallsOf(isEnded: (principal: Principal) => boolean): void {
    for (const call of this.#calls) if (isEnded(call.request.principal)) call.abort('revoked');
  }

  /** Calls per tool, most used first. */
  usage(): readonly ToolUsage[] {
    return this.#usage.tools();
  }

  /** Calls per agent, most active first. */
  agentUsage(): readonly AgentUsage[] {
    return this.#usage.agents();
  }

  /** The newest finished calls, of one agent when it is named, newest first. */
  usageHistory(agentId?: string): readonly UsageRecord[] {
    return this.#usage.history(agentId);
  }

  /**
   * Refuses new calls from now on and waits for running ones, at most `timeoutMs`; false when some still ran, which are ended then: the
   * answer to one that runs on would keep the server open for longer than a stop may take. Those that wait for a person end at once
   * with SHUTTING_DOWN, those that had begun with CANCELLED, or OUTCOME_UNKNOWN for what may have acted.
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
    const call = new Call({ ...asked, params: params ?? {} }, 'sync', this.#context);
    const isKnown = params !== undefined;
    const error = await this.#pass(call, isKnown ? PREFLIGHT_STAGES : TOOL_PREFLIGHT_STAGES);
    call.end();
    if (error) return { verdict: { allowed: false, error: redactedError(call, error).toBody() }, innerCalls: [] };
    const innerCalls = call.tool.innerCalls?.(isKnown ? call.params : undefined) ?? [];
    return { verdict: { allowed: true, risk: call.risk, effects: call.effects }, innerCalls };
  }

  #begin(request: CallRequest, mode: Call['mode']): Call {
    const call = new Call(request, mode, this.#context);
    this.#calls.add(call);
    call.onEnd(() => this.#calls.delete(call));
    return call;
  }

  async #callNow(call: Call): Promise<CallAnswer> {
    const refusal = await this.#pass(call, ADMISSION_STAGES);
    if (!refusal && call.repeated) {
      await this.#endRepeated(call);
      return call.repeated as unknown as CallAnswer;
    }
    return this.#finish(call, refusal ?? (await this.#pass(call, EXECUTION_STAGES)));
  }

  async #startJob(call: Call): Promise<AsyncAnswer> {
    const refusal = await this.#pass(call, [...ADMISSION_STAGES, createJob]);
    if (!refusal && call.repeated) {
      await this.#endRepeated(call);
      return { kind: 'job', job: call.repeated as unknown as JobView };
    }
    if (!refusal && call.isElsewhere) return this.#startElsewhere(call);
    const { job } = call;
    if (refusal || !job) {
      const answer = await this.#finish(call, refusal);
      job?.settle(answer, call.secrets);
      return { kind: 'refused', answer };
    }
    const finished = this.#pass(call, EXECUTION_STAGES).then(async (error) => job.settle(await this.#finish(call, error), call.secrets));
    void this.#track(finished.catch((failure: unknown) => this.#logBug(call, toAtmoError(failure))));
    return { kind: 'job', job: job.view };
  }

  /** The job lives on the hub that has the tool; this one remembers where. */
  async #startElsewhere(call: Call): Promise<AsyncAnswer> {
    const error = await this.#pass(call, REMOTE_JOB_STAGES);
    const { remoteJob: job } = call;
    if (error || !job) return { kind: 'refused', answer: await this.#finish(call, error) };
    const view = copyJsonObject(job, RESULT_LIMITS);
    call.claim?.settle(view, view);
    delete call.claim;
    await this.#finish(call, undefined);
    return { kind: 'job', job };
  }

  /** Runs stages in order; the error of the first that refuses. */
  async #pass(call: Call, stages: readonly Stage[]): Promise<AtmoError | undefined> {
    try {
      for (const stage of stages) {
        this.#context.logger.debug('call.stage', { stage: stage.name, tool: call.toolId, trace_id: call.traceId });
        const pending = stage(call, this.#context);
        if (pending) await pending;
      }
      return undefined;
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (error.code === 'INTERNAL_ERROR') this.#logBug(call, error);
      return error;
    }
  }

  async #finish(call: Call, error: AtmoError | undefined): Promise<CallAnswer> {
    const answer = this.#answer(call, error && redactedError(call, error));
    call.end();
    this.#giveApprovalBack(call);
    const isRepeatable = answer.status === 'error' && (!call.isDispatched || ERROR_CODES[answer.error.code].retry === 'later');
    await this.#audit(call, answer);
    try {
      call.claim?.settle(copyJsonObject(answer, RESULT_LIMITS), isRepeatable ? undefined : storableAnswer(call, answer));
    } catch (failure) {
      this.#logBug(call, toAtmoError(failure));
    }
    this.#log(call, answer);
    this.#tell(call, answer);
    return answer;
  }

  #giveApprovalBack(call: Call): void {
    if (!call.approval || call.isDispatched) return;
    try {
      this.#context.approvals.giveBack(call.approval.id);
    } catch (failure) {
      this.#logBug(call, toAtmoError(failure));
    }
  }

  #answer(call: Call, error: AtmoError | undefined): CallAnswer {
    const ranOn = call.ranOn;
    const facts = {
      requestId: call.requestId,
      traceId: call.traceId,
      nodeId: ranOn?.id ?? this.#context.nodeId,
      nowMs: this.#context.nowMs(),
      durationMs: this.#context.clock.monotonic() - call.startedMs,
      hops: ranOn?.hops ?? 0,
      contentType: call.contentType,
      details: call.resultDetails,
    };
    return call.result && !error ? successAnswer(facts, call.result) : errorAnswer(facts, error ?? toAtmoError(undefined));
  }

  /** An outcome that cannot be written changes nothing of what happened: it is logged, the caller still gets the answer. */
  async #audit(call: Call, answer: CallAnswer): Promise<void> {
    try {
      await this.#journal.record(auditOutcome(call, answer, this.#context.nowMs()));
    } catch (failure) {
      this.#logBug(call, toAtmoError(failure));
    }
  }

  async #endRepeated(call: Call): Promise<void> {
    call.end();
    try {
      await this.#journal.recordRepeat(call);
    } catch (failure) {
      this.#logBug(call, toAtmoError(failure));
    }
  }

  #log(call: Call, answer: CallAnswer): void {
    if (!this.#logsCalls) return;
    this.#context.logger.info('call.finished', {
      tool: call.toolId,
      agent: call.request.principal.id,
      status: answer.status,
      ...(answer.status === 'error' && { code: answer.error.code }),
      duration_ms: answer.execution.duration_ms,
      trace_id: call.traceId,
    });
  }

  #tell(call: Call, answer: CallAnswer): void {
    // How a job ends that lives elsewhere is told there.
    if (!call.isResolved || call.remoteJob) return;
    const durationMs = answer.execution.duration_ms;
    const data = { ...eventData(call), duration_ms: durationMs, response_hash: answer.response_hash };
    const { clock, events } = this.#context;
    if (answer.status === 'success') events.emit('agi.tool.result', call.toolId, data);
    else events.emit('agi.tool.failed', call.toolId, { ...data, code: answer.error.code });
    const record = { toolId: call.toolId, agentId: call.request.principal.id, atMs: clock.now(), durationMs };
    this.#usage.record(answer.status === 'error' ? { ...record, error: answer.error.code } : record);
  }

  #logBug(call: Call, error: AtmoError): void {
    // The store that the disk refused has said so once, and the hub's health says so as long as it lasts.
    if (error.code === 'STORAGE_FAILED') return;
    const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
    const told = withoutSecretTexts(stack ?? '', call.secrets);
    this.#context.logger.error('tool.bug', { tool: call.toolId, trace_id: call.traceId, stack: told });
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const open = work.finally(() => this.#open.delete(open));
    this.#open.add(open);
    return open;
  }
}

/** The last step of admission for a job: from here on its own signal ends it, not the request's. */
function createJob(call: Call, context: StageContext): void {
  if (call.repeated || call.isElsewhere) return;
  call.deadline.throwIfOver();
  const job = context.jobs.create(call.request.principal, call.tool);
  call.job = job;
  const view = copyJsonObject(job.view, RESULT_LIMITS);
  call.claim?.settle(view, view);
  delete call.claim;
  startDeadline(call, context, job.signal);
}

/** Calls in calls in calls: as deep as composed tools may be registered. */
const MAX_PREFLIGHT_DEPTH = 4;
const MAX_PREFLIGHT_CALLS = 256;

/** A call that is asked about; without parameters where nobody knows them yet. */
type PreflightRequest = Omit<CallRequest, 'params'> & { readonly params?: unknown };

/** What is said of a call by itself, and the calls that it is going to make. */
interface PreflightStep {
  readonly verdict: Preflight;
  readonly innerCalls: readonly InnerCall[];
}

/**
 * Judges a call with all calls that it is going to make, those first that come first, so that nothing is half done when
 * one of them has to wait for people. Ends at the first that would be refused.
 */
class RecursivePreflight {
  readonly #judge: (asked: PreflightRequest) => Promise<PreflightStep>;
  #callsLeft = MAX_PREFLIGHT_CALLS;

  constructor(judge: (asked: PreflightRequest) => Promise<PreflightStep>) {
    this.#judge = judge;
  }

  async run(asked: PreflightRequest, depth = 0): Promise<Preflight> {
    const { verdict, innerCalls } = await this.#judge(asked);
    if (!verdict.allowed || depth === MAX_PREFLIGHT_DEPTH) return verdict;
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

/** Where a call is to run, and by when, is its own business. */
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
  const message = `${tool} would make more than ${MAX_PREFLIGHT_CALLS} calls; call its steps by themselves`;
  return { allowed: false, error: { code: 'RESOURCE_EXCEEDED', message, details: { permanent: true }, retryable: false } };
}
