import type { ApprovalQueue, ApprovalService, ApprovalView } from '../../core/auth/approvals.ts';
import type { CallVault } from '../../core/auth/call-vault.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf, present } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { copyJsonObject, LARGE_PARAMS_LIMITS } from '../../tools/schema/plain-json.ts';
import type { CallRequest } from '../request-and-answer.ts';
import type { JobStore, RunningJob, WaitingJobRecord } from './job-store.ts';

interface WaitingJobCollaborators extends Pick<HubContext, 'events' | 'logger'> {
  readonly jobs: Pick<JobStore, 'waiting' | 'resume' | 'fail' | 'lostError'>;
  readonly approvals: Pick<ApprovalService, 'get' | 'list'> & Pick<ApprovalQueue, 'withdraw'>;
  readonly vault: Pick<CallVault, 'open'>;
  readonly pipeline: { resumeJob(request: CallRequest, job: RunningJob): Promise<void> };
}

/**
 * Runs the jobs that wait for approval when people approve them, and ends them when people deny them or the time is over. A job runs at most
 * once: its approval is used up on the disk before the call can take effect, and a job whose approval was used is never run again.
 */
export class WaitingJobs implements Service {
  readonly #collaborators: WaitingJobCollaborators;
  readonly #running = new Set<string>();
  #unsubscribe: () => void = () => {};

  constructor(collaborators: WaitingJobCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Also acts on what was decided before the last process ended. Started last, when all tools are there. */
  async start(): Promise<void> {
    const { events, jobs, approvals } = this.#collaborators;
    this.#unsubscribe = events.listen(
      ({ type, subject, data }) => {
        if (type === 'approval.decided') this.#decided(subject);
        else if (data.status === 'failed' || data.status === 'cancelled') this.#withdrawEnded();
      },
      ['approval.decided', 'job.changed'],
    );
    for (const job of jobs.waiting()) if (approvals.get(job.approvalId)?.view.state === 'used') this.#endLost(job);
    for (const job of jobs.waiting()) this.#follow(job);
    this.#withdrawEnded();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
  }

  /**
   * Ends the jobs whose callers have no valid token any more, for example because the hub that issued it has revoked it. With `tokenId`, only
   * jobs of that token and of those that come from it: to look at a job, its call has to be decrypted.
   */
  endInvalid(tokenId?: string): void {
    const { jobs, vault } = this.#collaborators;
    for (const job of jobs.waiting()) {
      if (tokenId !== undefined && !job.tokenIds.includes(tokenId)) continue;
      try {
        if (!this.#running.has(job.id)) vault.open(job.id, job.sealed);
      } catch (thrown) {
        jobs.fail(job.id, toAtmoError(thrown));
      }
    }
  }

  #decided(approvalId: string): void {
    const job = this.#collaborators.jobs.waiting().find((one) => one.approvalId === approvalId);
    if (job) this.#follow(job);
  }

  /** Runs or ends a job, by the state of its request. */
  #follow(job: WaitingJobRecord): void {
    const { jobs, approvals } = this.#collaborators;
    const view = approvals.get(job.approvalId)?.view;
    if (view?.state === 'pending' || view?.state === 'used') return;
    if (view?.state === 'approved') void this.#run(job);
    else jobs.fail(job.id, endOf(job, view));
  }

  async #run(waiting: WaitingJobRecord): Promise<void> {
    const { jobs, vault, pipeline, approvals, logger } = this.#collaborators;
    if (this.#running.has(waiting.id)) return;
    this.#running.add(waiting.id);
    try {
      const { call, principal } = vault.open(waiting.id, waiting.sealed);
      await pipeline.resumeJob({ ...restoredCall(call), principal }, jobs.resume(waiting.id));
    } catch (thrown) {
      const error = toAtmoError(thrown);
      logger.warn('job.not_resumed', { job_id: waiting.id, code: error.code });
      jobs.fail(waiting.id, error);
    } finally {
      this.#running.delete(waiting.id);
      if (!jobs.waiting().some(({ id }) => id === waiting.id)) approvals.withdraw(waiting.approvalId);
    }
  }

  /**
   * Ends a job whose approval was used by a process that ended before it stored that the job runs. It may have run, if the database is an
   * older copy.
   */
  #endLost({ id }: WaitingJobRecord): void {
    const { jobs } = this.#collaborators;
    jobs.fail(id, jobs.lostError(id));
  }

  /** Withdraws the requests whose job has ended, for example because it was cancelled or its token was revoked. */
  #withdrawEnded(): void {
    const { jobs, approvals } = this.#collaborators;
    const waiting = new Set(jobs.waiting().map(({ approvalId }) => approvalId));
    for (const { view } of approvals.list()) {
      const isOpen = view.state === 'pending' || view.state === 'approved';
      if (!isOpen || view.job_id === undefined || waiting.has(view.approval_id)) continue;
      if (!this.#running.has(view.job_id)) approvals.withdraw(view.approval_id);
    }
  }
}

/** Returns the error of a job that does not run: its request was denied, has expired, or was never stored. */
function endOf({ approvalId }: WaitingJobRecord, view: ApprovalView | undefined): AtmoError {
  if (!view) return new AtmoError('SHUTTING_DOWN', 'The hub stopped before people were asked; nothing was done, start the job again');
  const details = { approval_id: approvalId };
  if (view.state === 'denied') {
    const until = view.expires_at;
    const told = `${view.denied_by} has denied this call of ${view.tool}; it is refused until ${until}, after that it can be asked for again`;
    return new AtmoError('PERMISSION_DENIED', told, { ...details, denied_until: until });
  }
  return new AtmoError('TIMEOUT', `Nobody approved ${view.tool} until ${view.expires_at}; nothing was done, start the job again`, details);
}

/** Returns the parts of a request with which the call can be made later. The caller is stored beside it. */
export function storableCall(request: CallRequest): JsonObject {
  const { tool, version, params, timeoutMs, traceId, sessionId, routing } = request;
  const whole = copyJsonObject(params ?? {}, LARGE_PARAMS_LIMITS);
  return present({ tool, version, params: whole, timeoutMs, traceId, sessionId, routing: routing && { ...routing } }) as JsonObject;
}

function restoredCall(call: JsonObject): Omit<CallRequest, 'principal'> {
  const { tool, params, ...rest } = call as JsonObject & Partial<Omit<CallRequest, 'principal'>>;
  return { ...rest, tool: String(tool), params: objectOf(params), isOwn: true };
}
