import type { HubClient } from './hub-client.ts';
import type { AreaInfo } from './hub-types.ts';
import { Observable } from './observable.ts';

/** The rooms of the home in the order of the hub, which is the same for everybody. */
export class HomePlan extends Observable {
  readonly #hub: Pick<HubClient, 'get'>;
  #areas: readonly AreaInfo[] = [];

  constructor(hub: Pick<HubClient, 'get'>) {
    super();
    this.#hub = hub;
  }

  get areas(): readonly AreaInfo[] {
    return this.#areas;
  }

  /** Loads the rooms. If the request fails, the old order stays; a room that the plan does not know is shown all the same. */
  async load(): Promise<void> {
    const answer = await this.#hub.get<{ areas: readonly AreaInfo[] }>('/api/v1/areas').catch(() => undefined);
    if (!answer) return;
    this.#areas = answer.areas;
    this.changed();
  }
}
