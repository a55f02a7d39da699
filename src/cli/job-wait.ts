import { setTimeout as delay } from 'node:timers/promises';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { Invocation } from './command.ts';
import { codeIn } from './hub/hub-client.ts';
import { cellText } from './terminal/text-table.ts';

const POLL_MS = 250;

/** Follows a job to its end, telling each step on stderr; answers its result or throws its error. */
export function followJob({ hub, output, io }: Invocation, jobId: string, what: string): Promise<JsonObject> {
  const sleep = io.sleep ?? delay;
  return output.during(what, async ({ step }) => {
    let told = '';
    for (;;) {
      const job = await hub.get(`/api/v1/jobs/${encodeURIComponent(jobId)}`);
      const line = progressLine(job.progress);
      if (line !== told && line !== '') step(line);
      told = line;
      if (job.status !== 'queued' && job.status !== 'running') return resultOf(job);
      await sleep(POLL_MS);
    }
  });
}

/** How far something is, as ` 40 % what it does`; empty when nothing is told. */
export function progressLine(progress: unknown): string {
  if (!isJsonObject(progress)) return '';
  const percent = typeof progress.fraction === 'number' ? `${Math.round(progress.fraction * 100)} %`.padStart(5) : '';
  return `${percent} ${typeof progress.note === 'string' ? cellText(progress.note) : ''}`.trimEnd();
}

function resultOf(job: JsonObject): JsonObject {
  if (job.status === 'succeeded') return isJsonObject(job.result) ? job.result : { result: job.result ?? null };
  const error = isJsonObject(job.error) ? job.error : {};
  const otherwise = job.status === 'expired' ? 'JOB_NOT_FOUND' : 'CANCELLED';
  const message = typeof error.message === 'string' ? error.message : `The job ${job.job_id} ended as ${job.status}`;
  throw new AtmoError(codeIn(error) ?? otherwise, message, isJsonObject(error.details) ? error.details : {});
}
