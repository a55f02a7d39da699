import type { Clock } from '../../core/clock.ts';
import type { EventBus } from '../../core/events.ts';
import type { Json } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { Place } from '../triggers/sun-times.ts';
import type { HouseState, Presence } from '../triggers/watch.ts';
import { FlagStore } from './flag-store.ts';
import { PresenceStore } from './presence-store.ts';

interface HousePorts {
  readonly clock: Clock;
  readonly store: KeyValueStore;
  readonly events: EventBus;
}

/** What is known about the house beside its devices: flags, who is at home, and where it is. */
export class House implements HouseState, Service {
  readonly flags: FlagStore;
  readonly presences: PresenceStore;
  readonly #place: Place | undefined;

  constructor({ clock, store, events }: HousePorts, { place }: { readonly place?: Place | undefined }) {
    this.flags = new FlagStore({ clock, store, events });
    this.presences = new PresenceStore({ clock, store, events });
    this.#place = place;
  }

  async start(): Promise<void> {
    this.flags.load();
    this.presences.load();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.flags[Symbol.dispose]();
  }

  flag(name: string): Json | undefined {
    return this.flags.get(name)?.value;
  }

  presenceOf(person: string): Presence | undefined {
    return this.presences.get(person)?.presence;
  }

  persons(): readonly string[] {
    return this.presences.list().map(({ person }) => person);
  }

  place(): Place | undefined {
    return this.#place;
  }
}
