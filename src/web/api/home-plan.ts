import type { HubClient } from './hub-client.ts';
import type { AreaInfo, SceneInfo } from './hub-types.ts';
import { Observable } from './observable.ts';

/** The rooms of the home in the order of the hub, which is the same for everybody, and its scenes. */
export class HomePlan extends Observable {
  readonly #hub: Pick<HubClient, 'get'>;
  #areas: readonly AreaInfo[] = [];
  #scenes: readonly SceneInfo[] = [];

  constructor(hub: Pick<HubClient, 'get'>) {
    super();
    this.#hub = hub;
  }

  get areas(): readonly AreaInfo[] {
    return this.#areas;
  }

  /** The scenes of which the person may control a device. */
  get scenes(): readonly SceneInfo[] {
    return this.#scenes;
  }

  /** Loads rooms and scenes. If a request fails, the old ones stay; a room that the plan does not know is shown all the same. */
  async load(): Promise<void> {
    const [places, moods] = await Promise.all([
      this.#hub.get<{ areas: readonly AreaInfo[] }>('/api/v1/areas').catch(() => undefined),
      this.#hub.get<{ scenes: readonly SceneInfo[] }>('/api/v1/scenes').catch(() => undefined),
    ]);
    this.#areas = places?.areas ?? this.#areas;
    this.#scenes = moods?.scenes ?? this.#scenes;
    this.changed();
  }

  /** Forgets the home. Called after sign-out. */
  clear(): void {
    this.#areas = [];
    this.#scenes = [];
    this.changed();
  }
}
