import type { Principal } from '../../core/access/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { JobPlaces } from '../calls/jobs/job-places.ts';
import type { JobStore, JobView } from '../calls/jobs/job-store.ts';
import type { RemoteJobAsker, RemoteJobs } from './remote-jobs.ts';

interface KnownJobsCollaborators {
  readonly jobs: Pick<JobStore, 'get' | 'list' | 'cancel'>;
  readonly places: Pick<JobPlaces, 'hubOf' | 'list'>;
  readonly remote: RemoteJobs;
}

/** Jobs of other hubs that are asked for at once. */
const MAX_ASKED = 64;

/** What is known of the jobs on other hubs. */
export interface JobsElsewhere {
  readonly jobs: readonly (JobView & { readonly node_id: string })[];
  /** Nobody could say how they stand. */
  readonly unreachable: readonly { readonly job_id: string; readonly node_id: string }[];
}

/** A caller's jobs, on this hub or on the one that runs them. */
export class KnownJobs {
  readonly #jobs: KnownJobsCollaborators['jobs'];
  readonly #places: KnownJobsCollaborators['places'];
  readonly #remote: RemoteJobs;

  constructor({ jobs, places, remote }: KnownJobsCollaborators) {
    this.#jobs = jobs;
    this.#places = places;
    this.#remote = remote;
  }

  /** JOB_NOT_FOUND also for other people's jobs; NODE_UNAVAILABLE while the hub that runs it cannot be reached. */
  async status(id: string, asker: RemoteJobAsker): Promise<JobView> {
    const hub = this.#places.hubOf(id, asker.principal);
    return hub !== undefined ? this.#remote.status(hub, id, asker) : this.#jobs.get(id, asker.principal);
  }

  /** Asks the job to stop; a finished one stays as it is. Errors as those of `status`. */
  async cancel(id: string, asker: RemoteJobAsker): Promise<JobView> {
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
  async listElsewhere(asker: RemoteJobAsker): Promise<JobsElsewhere> {
    const places = this.#places.list(asker.principal).slice(0, MAX_ASKED);
    const told = await Promise.all(
      places.map(async (place) => ({ place, view: await this.#remote.status(place.hubId, place.jobId, asker).catch(toAtmoError) })),
    );
    const jobs = told.flatMap(({ place, view }) => (view && !(view instanceof AtmoError) ? [{ ...view, node_id: place.hubId }] : []));
    const unknown = told.filter(({ view }) => view instanceof AtmoError && view.code !== 'JOB_NOT_FOUND');
    return { jobs, unreachable: unknown.map(({ place }) => ({ job_id: place.jobId, node_id: place.hubId })) };
  }
}
