import { AtmoError, type ErrorBody } from '../../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts';
import { isoTime, parseIsoTime } from '../../../core/time/iso-time.ts';
import type { JobView } from '../../../tools/calls/jobs/job-store.ts';

/** Name of the extension (SEP-2663). */
export const TASKS = 'io.modelcontextprotocol/tasks';
/** How often a client should ask, milliseconds. */
const POLL_MS = 1_000;
/** How long a finished job is known. */
const KEPT_MS = 3_600_000;

/** Whether a client of 2026-07-28 said with this request that it takes tasks. */
export function takesTasks(clientCapabilities: JsonObject): boolean {
  const { extensions } = clientCapabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS]);
}

/** True once nothing about the job changes any more. */
export function isFinished({ status }: JobView): boolean {
  return status !== 'queued' && status !== 'running';
}

/** What came of a call that ran as a job. */
export type JobOutcome = { readonly status: 'success'; readonly result: Json } | { readonly status: 'error'; readonly error: ErrorBody };

/** What came of a finished job. JOB_NOT_FOUND where its result is not kept. */
export function outcomeOf({ result, error, status }: JobView): JobOutcome {
  if (error) return { status: 'error', error };
  if (result !== undefined) return { status: 'success', result };
  const message = `The job is ${status} and its result is not kept; look at the state of things before you call again`;
  return { status: 'error', error: new AtmoError('JOB_NOT_FOUND', message).toBody() };
}

/** A job as a `Task`; `resultOf` makes the result of a finished one, errors of tools among them. */
export function taskOf(job: JobView, nowMs: number, resultOf: (job: JobView) => JsonObject): JsonObject {
  const endMs = job.finished_at === undefined ? nowMs : parseIsoTime(job.finished_at, 'finished_at');
  const createdMs = parseIsoTime(job.created_at, 'created_at');
  const note =
    job.progress && `${Math.round(job.progress.fraction * 100)} %${job.progress.note === undefined ? '' : `: ${job.progress.note}`}`;
  return {
    taskId: job.job_id,
    createdAt: job.created_at,
    lastUpdatedAt: isoTime(endMs),
    ttlMs: Math.max(0, endMs - createdMs) + KEPT_MS,
    pollIntervalMs: POLL_MS,
    ...(note !== undefined && !isFinished(job) && { statusMessage: note }),
    ...standOf(job, resultOf),
  };
}

function standOf(job: JobView, resultOf: (job: JobView) => JsonObject): JsonObject {
  if (!isFinished(job)) return { status: 'working' };
  if (job.status === 'cancelled') return { status: 'cancelled', statusMessage: 'Cancelled; what was done before stays done' };
  return { status: 'completed', result: resultOf(job) };
}
