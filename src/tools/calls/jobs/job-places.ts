import { type Principal, principalKey } from '../../../core/access/principal.ts';
import { isJsonObject } from '../../../core/json.ts';
import type { KeyValueStore } from '../../../core/storage/key-value-store.ts';

const SPACE = 'jobs.elsewhere';
/** Longer than any tool may run and its result is kept. */
const KEPT_MS = 7 * 86_400_000;
const MAX_PLACES = 4_096;

/** A job that another hub runs for a caller of this one. */
interface JobPlace {
  readonly jobId: string;
  readonly hubId: string;
  readonly owner: Principal;
}

/** On which other hub a job runs, for a week and over a restart: its id alone does not tell. */
export class JobPlaces {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  /** STORAGE_FAILED. */
  remember({ jobId, hubId, owner }: JobPlace): void {
    const known = this.#store.entries(SPACE);
    for (const { key } of known.slice(0, Math.max(0, known.length + 1 - MAX_PLACES))) this.#store.delete(SPACE, key);
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
