import { hasEnded, type JobView } from '../../calls/request-and-answer.ts';
import { type Clock, isoTime, parseIsoTime } from '../../core/clock.ts';
import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { JobPort } from '../../http/ports.ts';
import type { ToolDirectory } from '../../tools/registry/tool-directory.ts';
import type { McpCaller, McpFeature } from '../mcp-feature.ts';
import { errorResult, toolResult } from './tool-result.ts';

interface TaskParts {
  readonly jobs: Pick<JobPort, 'status' | 'cancel'>;
  readonly tools: Pick<ToolDirectory, 'get'>;
  readonly clock: Clock;
}

/** Returns `tasks/get`, `tasks/update` and `tasks/cancel` (io.modelcontextprotocol/tasks, SEP-2663). A task is a job of the hub. */
export function taskFeature({ jobs, tools, clock }: TaskParts): McpFeature {
  const jobOf = (params: JsonObject, caller: McpCaller) => jobs.status(idIn(params, caller), caller);
  /** Returns the result that the call would have had without a task. */
  const resultOf = (job: JobView): JsonObject => {
    const outcome = outcomeOf(job);
    if (outcome.status === 'success') return toolResult(tools.get(job.tool), outcome.result);
    return errorResult(outcome.error, { era: 'modern', listing: 'open' });
  };
  return {
    capabilities: { extensions: { [TASKS]: {} } },
    methods: {
      'tasks/get': async (params, caller) => ({ ...taskOf(await jobOf(params, caller), clock.now(), resultOf), resultType: 'complete' }),
      // Tasks of this hub never wait for input, so the request is acknowledged and otherwise ignored.
      'tasks/update': async (params, caller) => {
        await jobOf(params, caller);
        return { resultType: 'complete' };
      },
      'tasks/cancel': async (params, caller) => {
        await jobs.cancel(idIn(params, caller), caller);
        return { resultType: 'complete' };
      },
    },
  };
}

/** Returns the job id. Throws JOB_NOT_FOUND if it is malformed, and NOT_SUPPORTED if the client has not declared tasks. */
function idIn({ taskId }: JsonObject, { clientCapabilities }: McpCaller): string {
  if (!takesTasks(clientCapabilities)) {
    throw new AtmoError('NOT_SUPPORTED', `Say with each request that the client has the extension ${TASKS}`, {
      extension: TASKS,
      client_capabilities: { extensions: { [TASKS]: {} } },
    });
  }
  if (typeof taskId === 'string' && taskId.length <= 64) return taskId;
  throw new AtmoError('JOB_NOT_FOUND', 'The parameter taskId is missing, or is no id of a task');
}

/** Name of the tasks extension (SEP-2663). */
const TASKS = 'io.modelcontextprotocol/tasks';
/** Recommended interval in milliseconds between two polls of a client. */
const POLL_MS = 1_000;
/** How long the result of a finished job is stored, in milliseconds. */
const RESULT_KEPT_MS = 3_600_000;

/** Returns whether a client of MCP 2026-07-28 has declared tasks in this request. */
export function takesTasks(clientCapabilities: JsonObject): boolean {
  const { extensions } = clientCapabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS]);
}

/** The outcome of a call that ran as a job. */
export type JobOutcome = { readonly status: 'success'; readonly result: Json } | { readonly status: 'error'; readonly error: ErrorBody };

/** Returns the outcome of a finished job. If the result was deleted, the outcome is the error JOB_NOT_FOUND. */
export function outcomeOf({ result, error, status }: JobView): JobOutcome {
  if (error) return { status: 'error', error };
  if (result !== undefined) return { status: 'success', result };
  const message = `The job is ${status} and its result is not kept; look at the state of things before you call again`;
  return { status: 'error', error: new AtmoError('JOB_NOT_FOUND', message).toBody() };
}

/** Returns a job as an MCP `Task`. `resultOf` returns the result of a finished job, even if its tool failed. */
export function taskOf(job: JobView, nowMs: number, resultOf: (job: JobView) => JsonObject): JsonObject {
  const endMs = job.finished_at === undefined ? nowMs : parseIsoTime(job.finished_at, 'finished_at');
  const createdMs = parseIsoTime(job.created_at, 'created_at');
  const note =
    job.progress && `${Math.round(job.progress.fraction * 100)} %${job.progress.note === undefined ? '' : `: ${job.progress.note}`}`;
  return {
    taskId: job.job_id,
    createdAt: job.created_at,
    lastUpdatedAt: isoTime(endMs),
    ttlMs: Math.max(0, endMs - createdMs) + RESULT_KEPT_MS,
    pollIntervalMs: POLL_MS,
    ...(note !== undefined && !hasEnded(job) && { statusMessage: note }),
    ...taskState(job, resultOf),
  };
}

function taskState(job: JobView, resultOf: (job: JobView) => JsonObject): JsonObject {
  if (!hasEnded(job)) return { status: 'working' };
  if (job.status === 'cancelled') return { status: 'cancelled', statusMessage: 'Cancelled; what was done before stays done' };
  return { status: 'completed', result: resultOf(job) };
}
