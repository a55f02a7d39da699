import { createHmac, randomBytes } from 'node:crypto';
import type { AuditOutcome } from '../core/audit-sink.ts';
import { type AtmoError, ERROR_CODES, toAtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { ADMISSION_STAGES, type Stage } from './admission-stages.ts';
import { Call } from './call.ts';
import { type CallAnswer, type CallRequest, errorAnswer, successAnswer } from './call-answer.ts';
import type { PipelineCollaborators, PipelineOptions, StageContext } from './call-collaborators.ts';
import { ConcurrencyGate } from './concurrency-gate.ts';
import { EXECUTION_STAGES, eventData } from './execution-stages.ts';
import type { JobView } from './job-store.ts';
import { copyJsonObject, RESULT_LIMITS } from './plain-json.ts';
import { maskResult } from './secret-params.ts';
import { type ToolUsage, UsageCounter, type UsageRecord } from './usage-counter.ts';

/** A call as a job: the job at once, or the answer of a call that was refused. */
export type AsyncAnswer = { readonly kind: 'job'; readonly job: JobView } | { readonly kind: 'refused'; readonly answer: CallAnswer };

const DEFAULT_MAX_CONCURRENT = 64;
const DEFAULT_MAX_QUEUED = 256;

/** The one way from every door to every tool (design 4). A call never throws: refusals and failures are answers. */
export class CallPipeline {
  readonly #context: StageContext;
  readonly #usage = new UsageCounter();
  readonly #open = new Set<Promise<unknown>>();
  #isDraining = false;

  constructor(collaborators: PipelineCollaborators, options: PipelineOptions = {}) {
    const secretKey = randomBytes(32);
    this.#context = {
      ...collaborators,
      gate: new ConcurrencyGate({
        maxRunning: options.maxConcurrent ?? DEFAULT_MAX_CONCURRENT,
        maxWaiting: options.maxQueued ?? DEFAULT_MAX_QUEUED,
      }),
      disabledTools: new Set(options.disabledTools),
      resultInvalid: options.resultInvalid ?? 'error',
      isDraining: () => this.#isDraining,
      sealSecret: (value) => createHmac('sha256', secretKey).update(JSON.stringify(value)).digest('hex'),
    };
  }

  /** Runs a call and waits for its answer. */
  call(request: CallRequest): Promise<CallAnswer> {
    return this.#track(this.#callNow(new Call(request, 'sync', this.#context.clock)));
  }

  /** Admits a call and runs it as a job of the caller; refusals are answered at once. */
  callAsync(request: CallRequest): Promise<AsyncAnswer> {
    return this.#track(this.#startJob(new Call(request, 'job', this.#context.clock)));
  }

  /** Calls per tool since the start, most used first. */
  usage(): readonly ToolUsage[] {
    return this.#usage.tools();
  }

  /** The newest finished calls, newest first. */
  usageHistory(): readonly UsageRecord[] {
    return this.#usage.history();
  }

  /** Refuses new calls from now on and waits for running ones, at most `timeoutMs`; false when some still run. */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#isDraining = true;
    const timeUp = Promise.withResolvers<false>();
    const stop = this.#context.clock.after(timeoutMs, () => timeUp.resolve(false));
    const allDone = Promise.allSettled([...this.#open]).then(() => true);
    const isDone = await Promise.race([allDone, timeUp.promise]);
    stop();
    return isDone;
  }

  async #callNow(call: Call): Promise<CallAnswer> {
    const refusal = await this.#pass(call, ADMISSION_STAGES);
    if (!refusal && call.repeated) {
      call.end();
      return call.repeated as unknown as CallAnswer;
    }
    return this.#finish(call, refusal ?? (await this.#pass(call, EXECUTION_STAGES)));
  }

  async #startJob(call: Call): Promise<AsyncAnswer> {
    const refusal = await this.#pass(call, [...ADMISSION_STAGES, createJob]);
    if (!refusal && call.repeated) {
      call.end();
      return { kind: 'job', job: call.repeated as unknown as JobView };
    }
    const { job } = call;
    if (refusal || !job) {
      const answer = await this.#finish(call, refusal);
      job?.settle(answer);
      return { kind: 'refused', answer };
    }
    const finished = this.#pass(call, EXECUTION_STAGES).then(async (error) => job.settle(await this.#finish(call, error)));
    void this.#track(finished.catch((failure: unknown) => this.#logBug(call, toAtmoError(failure))));
    return { kind: 'job', job: job.view };
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
    call.end();
    const answer = this.#answer(call, error);
    const isRepeatable = answer.status === 'error' && (!call.isDispatched || ERROR_CODES[answer.error.code].retry === 'later');
    await this.#audit(call, answer);
    try {
      call.claim?.settle(copyJsonObject(answer, RESULT_LIMITS), isRepeatable ? undefined : withoutSecrets(call, answer));
    } catch (failure) {
      this.#logBug(call, toAtmoError(failure));
    }
    this.#tell(call, answer);
    return answer;
  }

  #answer(call: Call, error: AtmoError | undefined): CallAnswer {
    const ranOn = call.ranOn;
    const facts = {
      requestId: call.requestId,
      traceId: call.traceId,
      nodeId: ranOn?.id ?? this.#context.nodeId,
      durationMs: this.#context.clock.monotonic() - call.startedMs,
      hops: ranOn?.hops ?? 0,
    };
    return call.result && !error ? successAnswer(facts, call.result) : errorAnswer(facts, error ?? toAtmoError(undefined));
  }

  /** An outcome that cannot be written changes nothing of what happened: it is logged, the caller still gets the answer. */
  async #audit(call: Call, answer: CallAnswer): Promise<void> {
    try {
      await this.#context.audit?.record(auditEntry(call, answer, this.#context.clock.now()));
    } catch (failure) {
      this.#logBug(call, toAtmoError(failure));
    }
  }

  #tell(call: Call, answer: CallAnswer): void {
    if (!call.isResolved) return;
    const durationMs = answer.execution.duration_ms;
    const data = { ...eventData(call), duration_ms: durationMs, response_hash: answer.response_hash };
    const { clock, events } = this.#context;
    if (answer.status === 'success') events.emit('agi.tool.result', call.toolId, data);
    else events.emit('agi.tool.failed', call.toolId, { ...data, code: answer.error.code });
    const record = { toolId: call.toolId, agentId: call.request.principal.id, atMs: clock.now(), durationMs };
    this.#usage.record(answer.status === 'error' ? { ...record, error: answer.error.code } : record);
  }

  #logBug(call: Call, error: AtmoError): void {
    const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
    this.#context.logger.error('tool.bug', { tool: call.toolId, trace_id: call.traceId, stack: stack ?? '' });
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const open = work.finally(() => this.#open.delete(open));
    this.#open.add(open);
    return open;
  }
}

/** The last step of admission for a job: from here on its own signal ends it, not the request's. */
function createJob(call: Call, context: StageContext): void {
  if (call.repeated) return;
  const job = context.jobs.create(call.request.principal, call.tool);
  call.job = job;
  const view = copyJsonObject(job.view, RESULT_LIMITS);
  call.claim?.settle(view, view);
  delete call.claim;
  call.startDeadline(context.clock, job.signal);
}

/** The answer as it may lie on the disk. */
function withoutSecrets(call: Call, answer: CallAnswer): JsonObject {
  if (answer.status === 'error') return copyJsonObject(answer, RESULT_LIMITS);
  return copyJsonObject({ ...answer, result: maskResult(call.tool.definition.returns, answer.result) }, RESULT_LIMITS);
}

function auditEntry(call: Call, answer: CallAnswer, atMs: number): AuditOutcome {
  return {
    kind: call.isDispatched ? 'outcome' : 'refusal',
    requestId: call.requestId,
    traceId: call.traceId,
    principal: call.request.principal,
    toolId: call.toolId,
    atMs,
    durationMs: answer.execution.duration_ms,
    responseHash: answer.response_hash,
    ...(answer.status === 'error' && { error: answer.error.code }),
  };
}
