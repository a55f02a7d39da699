import type { JsonObject } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { pause } from '../../../core/time/pause.ts';
import type { CallRequest } from '../../../tools/calls/call-answer.ts';
import type { JobView } from '../../../tools/calls/jobs/job-store.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import type { CallPort, JobPort } from '../../ports.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { isFinished, type JobOutcome, outcomeOf, takesTasks, taskOf } from './task-view.ts';

/** Tools that take longer than this at most are no long ones. */
const LONG_MS = 30_000;
/** How long a client waits for a result before it gets the handle of a task, and one without tasks the id of a job. */
const TASK_PATIENCE_MS = 1_000;
const JOB_PATIENCE_MS = 25_000;
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 1_000;

/** What becomes of a call: its answer, or what to look after it with. */
export type LongOutcome = JobOutcome | { readonly status: 'running'; readonly handle: JsonObject };

interface LongCallParts {
  readonly pipeline: Pick<CallPort, 'callAsync'>;
  readonly jobs: Pick<JobPort, 'status' | 'cancel'>;
  readonly clock: Clock;
}

interface LongCall {
  readonly request: CallRequest;
  /** The client holds the result against a schema, so that it can be given no id of a job instead. */
  readonly isTyped: boolean;
}

/** True for a tool whose call may outlive the patience of clients. */
export function isLong({ definition: { execution } }: Pick<RegisteredTool, 'definition'>): boolean {
  return execution.isAsyncAllowed && execution.timeoutMs > LONG_MS;
}

/**
 * Runs a long call as a job, and answers it as if it were none when it is done soon. Else clients with tasks get a
 * `CreateTaskResult`, others the id with which job_status tells how it goes.
 */
export class LongCalls {
  readonly #pipeline: LongCallParts['pipeline'];
  readonly #jobs: LongCallParts['jobs'];
  readonly #clock: Clock;

  constructor({ pipeline, jobs, clock }: LongCallParts) {
    this.#pipeline = pipeline;
    this.#jobs = jobs;
    this.#clock = clock;
  }

  async run({ request, isTyped }: LongCall, caller: McpCaller): Promise<LongOutcome> {
    // The job may outlive the request: only while somebody waits for it does their going away end it.
    const { signal: _signal, onChunk: _onChunk, onQuestion: _onQuestion, onMessage: _onMessage, ...lasting } = request;
    const begun = await this.#pipeline.callAsync(lasting);
    if (begun.kind === 'refused') return begun.answer;
    const isTask = takesTasks(caller.clientCapabilities);
    const patienceMs = isTask ? TASK_PATIENCE_MS : isTyped ? Number.POSITIVE_INFINITY : JOB_PATIENCE_MS;
    const job = await this.#watch(begun.job, patienceMs, caller);
    if (isFinished(job)) return outcomeOf(job);
    if (!isTask) return { status: 'running', handle: jobHandle(job) };
    return { status: 'running', handle: { ...taskOf(job, this.#clock.now(), () => ({})), resultType: 'task' } };
  }

  /** The job when it has finished, or as it is when patience ends. A client that cancels or goes away while it waits ends it. */
  async #watch(begun: JobView, patienceMs: number, caller: McpCaller): Promise<JobView> {
    const endMs = this.#clock.monotonic() + patienceMs;
    let job = begun;
    for (let lookMs = FIRST_LOOK_MS; !isFinished(job); lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)) {
      const leftMs = endMs - this.#clock.monotonic();
      if (leftMs <= 0) break;
      await pause(this.#clock, Math.min(lookMs, leftMs), caller.signal);
      const { principal } = caller;
      if (caller.signal.aborted) return this.#jobs.cancel(job.job_id, { principal, signal: new AbortController().signal });
      const { progress: told } = job;
      job = await this.#jobs.status(job.job_id, caller);
      const { progress } = job;
      // A client is told again only what is new: progress has to grow.
      if (progress && (progress.fraction !== told?.fraction || progress.note !== told?.note))
        caller.progress(progress.fraction, progress.note);
    }
    return job;
  }
}

function jobHandle({ job_id: id, tool, status }: JobView): JsonObject {
  const text = `${tool} goes on as job ${id}. Ask job_status with {"job_id": "${id}"} how far it is; do not call the tool again.`;
  return { content: [{ type: 'text', text }], structuredContent: { job_id: id, tool, status } };
}
