import { type Principal, principalKey, rootAgentOf } from '../../core/auth/principal.ts';
import { pause } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { copyJson, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { hasEnded, JOB_STATUSES, type JobView } from '../request-and-answer.ts';
import type { JobStore } from './job-store.ts';

interface JobDirectoryParts {
  readonly jobs: Pick<JobStore, 'get' | 'list' | 'cancel'>;
  readonly places: Pick<JobLocations, 'hubOf' | 'list'>;
  readonly remote: RemoteJobs;
}

/** Maximum number of jobs whose state `listElsewhere` requests from other hubs. Older jobs are omitted. */
const MAX_REMOTE_QUERIES = 64;

/** The jobs on other hubs. */
export interface RemoteJobList {
  readonly jobs: readonly (JobView & { readonly node_id: string })[];
  /** Jobs whose hub did not respond. */
  readonly unreachable: readonly { readonly job_id: string; readonly node_id: string }[];
}

/** Reads and cancels a caller's jobs, on this hub and on other hubs. */
export class JobDirectory {
  readonly #parts: JobDirectoryParts;

  constructor(parts: JobDirectoryParts) {
    this.#parts = parts;
  }

  /**
   * Returns the state of a job. Rejects with JOB_NOT_FOUND if there is no such job or it belongs to another caller, and with
   * NODE_UNAVAILABLE if the job's hub cannot be reached.
   */
  async status(id: string, asker: RemoteJobCaller): Promise<JobView> {
    const hub = this.#parts.places.hubOf(id, asker.principal);
    if (hub === undefined) return this.#parts.jobs.get(id, asker.principal);
    return { ...(await this.#parts.remote.status(hub, id, asker)), node_id: hub };
  }

  /** Requests a job to stop; a finished job is unchanged. Rejects like `status`. */
  async cancel(id: string, asker: RemoteJobCaller): Promise<JobView> {
    const hub = this.#parts.places.hubOf(id, asker.principal);
    if (hub === undefined) return this.#parts.jobs.cancel(id, asker.principal);
    return { ...(await this.#parts.remote.cancel(hub, id, asker)), node_id: hub };
  }

  /** Returns a job of this hub. Throws JOB_NOT_FOUND if there is no such job here or it belongs to another caller. */
  get(id: string, principal: Principal): JobView {
    return this.#parts.jobs.get(id, principal);
  }

  list(principal: Principal): readonly JobView[] {
    return this.#parts.jobs.list(principal);
  }

  /** Returns the caller's jobs on other hubs, newest first. Requests the current state of each job from its hub. */
  async listElsewhere(asker: RemoteJobCaller): Promise<RemoteJobList> {
    const places = this.#parts.places.list(asker.principal).slice(0, MAX_REMOTE_QUERIES);
    const answers = await Promise.all(
      places.map(async (place) => ({ place, view: await this.#parts.remote.status(place.hubId, place.jobId, asker).catch(toAtmoError) })),
    );
    const jobs = answers.flatMap(({ place, view }) => (view && !(view instanceof AtmoError) ? [{ ...view, node_id: place.hubId }] : []));
    const unknown = answers.filter(({ view }) => view instanceof AtmoError && view.code !== 'JOB_NOT_FOUND');
    return { jobs, unreachable: unknown.map(({ place }) => ({ job_id: place.jobId, node_id: place.hubId })) };
  }
}

/** The caller that queries a job on another hub. The query ends when the signal aborts. */
export interface RemoteJobCaller {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/** Port: reads and cancels jobs on other hubs. Rejects with the other hub's error, or with NODE_UNAVAILABLE if it is unreachable. */
export interface RemoteJobs {
  status(hubId: string, jobId: string, asker: RemoteJobCaller): Promise<JobView>;
  /** Requests the job to stop; a finished job is unchanged. */
  cancel(hubId: string, jobId: string, asker: RemoteJobCaller): Promise<JobView>;
}

const SPACE = 'jobs.elsewhere';
/** Milliseconds for which the location of a job is stored. A job and its result together exist for less time than this. */
const KEPT_MS = 7 * 86_400_000;
const MAX_LOCATIONS = 4_096;

/** Stores which other hub runs a job. The entries survive restarts and expire after a week. What the disk refuses is known until a restart. */
export class JobLocations {
  readonly #store: KeyValueStore;
  /** Locations that the disk has refused, the oldest first. */
  readonly #unwritten = new Map<string, Json>();

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  /** Stores which other hub runs the job. It never throws: the job has begun there, and an error would say that nothing happens. */
  remember({ jobId, hubId, owner }: { readonly jobId: string; readonly hubId: string; readonly owner: Principal }): void {
    const place = { hub: hubId, owner: principalKey(owner) };
    attemptWrite(
      () => this.#write(jobId, place),
      () => this.#keep(jobId, place),
    );
  }

  #write(jobId: string, place: Json): void {
    const known = this.#store.entries(SPACE);
    for (const { key } of known.slice(0, Math.max(0, known.length + 1 - MAX_LOCATIONS))) this.#store.delete(SPACE, key);
    this.#store.set(SPACE, jobId, place, { ttlMs: KEPT_MS });
  }

  #keep(jobId: string, place: Json): void {
    const [oldest] = this.#unwritten.keys();
    if (oldest !== undefined && this.#unwritten.size >= MAX_LOCATIONS) this.#unwritten.delete(oldest);
    this.#unwritten.set(jobId, place);
  }

  /** Returns the principal's jobs on other hubs, newest first. The owner gets the jobs of all principals. */
  list(principal: Principal): readonly { readonly jobId: string; readonly hubId: string }[] {
    const keys = [...this.#store.entries(SPACE).map(({ key }) => key), ...this.#unwritten.keys()];
    const known = keys.flatMap((key) => {
      const hubId = this.hubOf(key, principal);
      return hubId === undefined ? [] : [{ jobId: key, hubId }];
    });
    return known.reverse();
  }

  /** Returns the hub that runs the job. Returns undefined if the job is unknown or the principal may not see it. */
  hubOf(jobId: string, principal: Principal): string | undefined {
    const place = this.#unwritten.get(jobId) ?? this.#store.get(SPACE, jobId);
    if (!isJsonObject(place) || typeof place.hub !== 'string') return undefined;
    return principal.kind === 'owner' || place.owner === principalKey(principal) ? place.hub : undefined;
  }
}

const jobResult = {
  type: 'object',
  required: ['job_id', 'tool', 'status'],
  properties: {
    job_id: { type: 'string' },
    tool: { type: 'string' },
    status: { enum: JOB_STATUSES },
  },
};
/** Longest time in seconds for which `job_status` waits. */
export const MAX_WAIT_S = 25;
/** How often the state is read while somebody waits. Another hub is asked with a signed message. */
const POLL_MS = { here: 500, elsewhere: 2_500 };
/** How many waits an agent and its descendants may have at once: each takes the place of a call. Further ones are answered at once. */
const MAX_WAITS = 4;
/** Milliseconds before the deadline of a call at which it stops waiting, so that the caller still gets the job. */
const MARGIN_MS = 1_000;

/** Lets callers wait for the end of jobs. */
class JobWaits {
  readonly #jobs: Pick<JobDirectory, 'status'>;
  /** The number of waits of each root agent. */
  readonly #counts = new Map<string, number>();

  constructor(jobs: Pick<JobDirectory, 'status'>) {
    this.#jobs = jobs;
  }

  /** Returns a job when it has ended, or as it is when the time is over. */
  async status(wanted: { readonly id: string; readonly waitMs: number }, context: ToolContext): Promise<JobView> {
    const root = rootAgentOf(context.principal.id);
    const count = this.#counts.get(root) ?? 0;
    if (wanted.waitMs === 0 || count >= MAX_WAITS) return this.#jobs.status(wanted.id, context);
    this.#counts.set(root, count + 1);
    try {
      return await statusWithin(this.#jobs, wanted, context);
    } finally {
      const left = (this.#counts.get(root) ?? 1) - 1;
      if (left > 0) this.#counts.set(root, left);
      else this.#counts.delete(root);
    }
  }
}

async function statusWithin(
  jobs: Pick<JobDirectory, 'status'>,
  { id, waitMs }: { readonly id: string; readonly waitMs: number },
  context: ToolContext,
): Promise<JobView> {
  const { clock, deadlineMs, signal } = context;
  const endMs = clock.now() + Math.min(waitMs, deadlineMs - clock.now() - MARGIN_MS);
  for (;;) {
    const view = await jobs.status(id, context);
    const leftMs = endMs - clock.now();
    if (hasEnded(view) || leftMs <= 0 || signal.aborted) return view;
    await pause(clock, Math.min(leftMs, view.node_id === undefined ? POLL_MS.here : POLL_MS.elsewhere), signal);
  }
}

const jobParameters = { job_id: p.string({ description: 'Id that the call answered with', maxLength: 64 }) };

/** Returns `job_status` and `job_cancel`. A job is visible to the principal that started it and to the hub's owner. */
export function jobTools(jobs: Pick<JobDirectory, 'status' | 'cancel'>): readonly RegisteredTool[] {
  const waits = new JobWaits(jobs);
  const status = defineTool(
    {
      name: 'job_status',
      title: 'Job status',
      description: 'Tells how far a job of yours is, and its result or error at its end.',
      category: 'managing',
      hasSideEffects: false,
      parameters: {
        ...jobParameters,
        wait_seconds: p.integer({ description: 'Wait for its end', minimum: 0, maximum: MAX_WAIT_S }).optional(),
      },
      returns: jobResult,
    },
    async ({ job_id: id, wait_seconds: seconds = 0 }, context) => jobJson(await waits.status({ id, waitMs: seconds * 1_000 }, context)),
  );
  const cancel = defineTool(
    {
      name: 'job_cancel',
      title: 'Cancel job',
      description: 'Asks an asynchronous call of yours to stop. What it has already done stays done; a finished job stays as it is.',
      category: 'managing',
      hasSideEffects: true,
      isIdempotent: true,
      permissions: ['job:cancel'],
      parameters: jobParameters,
      returns: jobResult,
    },
    async ({ job_id: id }, context) => jobJson(await jobs.cancel(id, context)),
  );
  return [status, cancel];
}

function jobJson(view: JobView): Json {
  return copyJson({ ...view }, RESULT_LIMITS);
}
