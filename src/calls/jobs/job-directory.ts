import { type Principal, principalKey } from '../../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJson, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import type { JobView } from '../request-and-answer.ts';
import type { JobStore } from './job-store.ts';

interface JobDirectoryCollaborators {
  readonly jobs: Pick<JobStore, 'get' | 'list' | 'cancel'>;
  readonly places: Pick<JobLocations, 'hubOf' | 'list'>;
  readonly remote: RemoteJobs;
}

/** Jobs of other hubs that are asked for at once. */
const MAX_REMOTE_QUERIES = 64;

/** What is known of the jobs on other hubs. */
export interface RemoteJobList {
  readonly jobs: readonly (JobView & { readonly node_id: string })[];
  /** Nobody could say how they stand. */
  readonly unreachable: readonly { readonly job_id: string; readonly node_id: string }[];
}

/** A caller's jobs, on this hub or on the one that runs them. */
export class JobDirectory {
  readonly #jobs: JobDirectoryCollaborators['jobs'];
  readonly #places: JobDirectoryCollaborators['places'];
  readonly #remote: RemoteJobs;

  constructor({ jobs, places, remote }: JobDirectoryCollaborators) {
    this.#jobs = jobs;
    this.#places = places;
    this.#remote = remote;
  }

  /** JOB_NOT_FOUND also for other people's jobs; NODE_UNAVAILABLE while the hub that runs it cannot be reached. */
  async status(id: string, asker: RemoteJobCaller): Promise<JobView> {
    const hub = this.#places.hubOf(id, asker.principal);
    return hub !== undefined ? this.#remote.status(hub, id, asker) : this.#jobs.get(id, asker.principal);
  }

  /** Asks the job to stop; a finished one stays as it is. Errors as those of `status`. */
  async cancel(id: string, asker: RemoteJobCaller): Promise<JobView> {
    const hub = this.#places.hubOf(id, asker.principal);
    return hub !== undefined ? this.#remote.cancel(hub, id, asker) : this.#jobs.cancel(id, asker.principal);
  }

  /** A job of this hub. JOB_NOT_FOUND also for other people's, and for those of other hubs. */
  get(id: string, principal: Principal): JobView {
    return this.#jobs.get(id, principal);
  }

  /** Those that run on this hub, newest first. */
  list(principal: Principal): readonly JobView[] {
    return this.#jobs.list(principal);
  }

  /** Those that run elsewhere, newest first, as their hubs tell now; of a hub that does not answer, that there is one. */
  async listElsewhere(asker: RemoteJobCaller): Promise<RemoteJobList> {
    const places = this.#places.list(asker.principal).slice(0, MAX_REMOTE_QUERIES);
    const told = await Promise.all(
      places.map(async (place) => ({ place, view: await this.#remote.status(place.hubId, place.jobId, asker).catch(toAtmoError) })),
    );
    const jobs = told.flatMap(({ place, view }) => (view && !(view instanceof AtmoError) ? [{ ...view, node_id: place.hubId }] : []));
    const unknown = told.filter(({ view }) => view instanceof AtmoError && view.code !== 'JOB_NOT_FOUND');
    return { jobs, unreachable: unknown.map(({ place }) => ({ job_id: place.jobId, node_id: place.hubId })) };
  }
}

/** Who asks for a job of another hub, and how long it waits. */
export interface RemoteJobCaller {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/** Port: jobs that run on other hubs. Errors as that hub answers them, such as JOB_NOT_FOUND; NODE_UNAVAILABLE while it cannot be reached. */
export interface RemoteJobs {
  status(hubId: string, jobId: string, asker: RemoteJobCaller): Promise<JobView>;
  /** Asks the job to stop; a finished one stays as it is. */
  cancel(hubId: string, jobId: string, asker: RemoteJobCaller): Promise<JobView>;
}

const SPACE = 'jobs.elsewhere';
/** Longer than any tool may run and its result is kept. */
const KEPT_MS = 7 * 86_400_000;
const MAX_LOCATIONS = 4_096;

/** A job that another hub runs for a caller of this one. */
interface JobLocation {
  readonly jobId: string;
  readonly hubId: string;
  readonly owner: Principal;
}

/** On which other hub a job runs, for a week and over a restart: its id alone does not tell. */
export class JobLocations {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  /** STORAGE_FAILED. */
  remember({ jobId, hubId, owner }: JobLocation): void {
    const known = this.#store.entries(SPACE);
    for (const { key } of known.slice(0, Math.max(0, known.length + 1 - MAX_LOCATIONS))) this.#store.delete(SPACE, key);
    this.#store.set(SPACE, jobId, { hub: hubId, owner: principalKey(owner) }, { ttlMs: KEPT_MS });
  }

  /** Jobs of this principal on other hubs, for the owner of everybody, newest first. */
  list(principal: Principal): readonly { readonly jobId: string; readonly hubId: string }[] {
    const known = this.#store.entries(SPACE).flatMap(({ key }) => {
      const hubId = this.hubOf(key, principal);
      return hubId === undefined ? [] : [{ jobId: key, hubId }];
    });
    return known.reverse();
  }

  /** The hub that runs a job of this principal, for the owner of anybody; undefined for all others, as for one that is not known. */
  hubOf(jobId: string, principal: Principal): string | undefined {
    const place = this.#store.get(SPACE, jobId);
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
    status: { enum: ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] },
  },
};
const jobParameters = { job_id: p.string({ description: 'Id that the asynchronous call answered with', maxLength: 64 }) };

/** `job_status` and `job_cancel`: a job belongs to who started it, nobody else can tell that it exists. */
export function jobTools(jobs: Pick<JobDirectory, 'status' | 'cancel'>): readonly RegisteredTool[] {
  const status = defineTool(
    {
      name: 'job_status',
      title: 'Job status',
      description: 'Tells how far an asynchronous call of yours is, and its result or error when it is done.',
      category: 'managing',
      hasSideEffects: false,
      parameters: jobParameters,
      returns: jobResult,
    },
    async ({ job_id: id }, context) => jobJson(await jobs.status(id, context)),
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
