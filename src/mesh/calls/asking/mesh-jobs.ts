import { AtmoError, type ErrorBody } from '../../../core/errors.ts';
import { visibleJson, visibleLine, visibleText } from '../../../core/foreign-text.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { type JobView, jobViewOf } from '../../../tools/calls/jobs/job-store.ts';
import type { RemoteJobAsker, RemoteJobs } from '../../../tools/elsewhere/remote-jobs.ts';
import type { MeshQueries } from './mesh-queries.ts';

/** How long a hub may take to say how a job stands. */
const PATIENCE_MS = 10_000;
const MAX_TOOL_LENGTH = 256;

/** Jobs that run on other hubs, asked for over the mesh in the name of whoever started them. */
export class MeshJobs implements RemoteJobs {
  readonly #queries: MeshQueries;
  readonly #clock: Clock;

  constructor({ queries, clock }: { readonly queries: MeshQueries; readonly clock: Clock }) {
    this.#queries = queries;
    this.#clock = clock;
  }

  status(hubId: string, jobId: string, asker: RemoteJobAsker): Promise<JobView> {
    return this.#ask('job_status', { hubId, jobId, asker });
  }

  cancel(hubId: string, jobId: string, asker: RemoteJobAsker): Promise<JobView> {
    return this.#ask('job_cancel', { hubId, jobId, asker });
  }

  async #ask(kind: 'job_status' | 'job_cancel', { hubId, jobId, asker }: JobQuestion): Promise<JobView> {
    const patience = new AbortController();
    const stop = this.#clock.after(PATIENCE_MS, () => patience.abort());
    const signal = AbortSignal.any([patience.signal, asker.signal]);
    const question = { target: hubId as HubId, body: { kind, jobId }, principal: asker.principal, remainingMs: PATIENCE_MS };
    try {
      const view = jobViewOf(await this.#queries.ask(question, { signal }));
      if (view) return readable(view);
      throw new AtmoError('INTERNAL_ERROR', `${hubId} answered something that is not a job`);
    } catch (error) {
      if (!patience.signal.aborted) throw error;
      throw new AtmoError('NODE_UNAVAILABLE', `${hubId} did not say within ${PATIENCE_MS / 1000} s how the job stands`);
    } finally {
      stop();
    }
  }
}

/** What the other hub says about the job is text of another hub; what the job found is data, and stays as it is. */
function readable({ tool, progress, error, ...view }: JobView): JobView {
  return {
    ...view,
    tool: visibleLine(tool, MAX_TOOL_LENGTH),
    ...(progress && { progress: { ...progress, ...(progress.note !== undefined && { note: visibleText(String(progress.note)) }) } }),
    ...(error && { error: visibleJson({ ...error }) as unknown as ErrorBody }),
  };
}

interface JobQuestion {
  readonly hubId: string;
  readonly jobId: string;
  readonly asker: RemoteJobAsker;
}
