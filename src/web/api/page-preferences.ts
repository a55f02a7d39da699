import { type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import type { HubClient } from './hub-client.ts';
import { Observable } from './observable.ts';

const PATH = '/api/v1/page-preferences';

/** What a person chose for the home page. The lists hold ids of devices and names of rooms, in the order that the person gave them. */
export interface HomePreferences {
  readonly favourites: readonly string[];
  readonly devices: readonly string[];
  readonly rooms: readonly string[];
}

/** The choices of a person on this page. The hub stores them, so all browsers of the person have the same. */
export class PagePreferences extends Observable {
  readonly #hub: Pick<HubClient, 'get' | 'put'>;
  #stored: JsonObject = {};
  #saving: Promise<void> = Promise.resolve();

  constructor(hub: Pick<HubClient, 'get' | 'put'>) {
    super();
    this.#hub = hub;
  }

  get home(): HomePreferences {
    const { favourites, devices, rooms } = objectOf(this.#stored.home);
    return { favourites: textsOf(favourites), devices: textsOf(devices), rooms: textsOf(rooms) };
  }

  /** Loads the choices. If the request fails, the page goes on without them: they change its order, and hide nothing. */
  async load(): Promise<void> {
    const answer = await this.#hub.get(PATH).catch(() => undefined);
    if (answer) this.#set(objectOf(answer.preferences));
  }

  /** Shows the new choices at once, and stores them. Throws HubError if the hub did not store them; the old choices are then shown again. */
  async changeHome(change: Partial<HomePreferences>): Promise<void> {
    const before = this.#stored;
    const home = { ...this.home, ...change };
    this.#set({ ...before, home: { favourites: [...home.favourites], devices: [...home.devices], rooms: [...home.rooms] } });
    // One request after the other: the hub replaces the whole object, and the last change has to be the one that stays.
    const saved = this.#saving.then(() => this.#hub.put(PATH, { preferences: this.#stored }));
    this.#saving = saved.then(
      () => undefined,
      () => undefined,
    );
    try {
      await saved;
    } catch (error) {
      this.#set(before);
      throw error;
    }
  }

  /** Forgets the choices. Called after sign-out. */
  clear(): void {
    this.#set({});
  }

  #set(stored: JsonObject): void {
    this.#stored = stored;
    this.changed();
  }
}

/**
 * Returns the items in a person's own order: those in `own` first, in its order, then all others as they were. `nameOf` returns the text by
 * which `own` names an item.
 */
export function inOwnOrder<Item>(items: readonly Item[], own: readonly string[], nameOf: (item: Item) => string): readonly Item[] {
  const places = new Map(own.map((name, place) => [name, place]));
  const placeOf = (item: Item) => places.get(nameOf(item)) ?? own.length;
  return items.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Returns a list with one name moved by `steps` places. The list is returned unchanged if the name would leave it. */
export function moved(names: readonly string[], name: string, steps: number): readonly string[] {
  const from = names.indexOf(name);
  const to = from + steps;
  if (from < 0 || to < 0 || to >= names.length) return names;
  const rest = names.filter((other) => other !== name);
  return [...rest.slice(0, to), name, ...rest.slice(to)];
}

/** Returns the names in `own` with those in `shown` in their new order. Names in `own` that are not shown now stay, after them. */
export function withShownOrder(own: readonly string[], shown: readonly string[]): readonly string[] {
  return [...shown, ...own.filter((name) => !shown.includes(name))];
}
