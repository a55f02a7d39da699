import type { Principal } from '../../core/access/principal.ts';
import type { JobView } from '../calls/jobs/job-store.ts';

/** Who asks for a job of another hub, and how long it waits. */
export interface RemoteJobAsker {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/** Port: jobs that run on other hubs. Errors as that hub answers them, such as JOB_NOT_FOUND; NODE_UNAVAILABLE while it cannot be reached. */
export interface RemoteJobs {
  status(hubId: string, jobId: string, asker: RemoteJobAsker): Promise<JobView>;
  /** Asks the job to stop; a finished one stays as it is. */
  cancel(hubId: string, jobId: string, asker: RemoteJobAsker): Promise<JobView>;
}
