import type { Clock } from '../../core/clock.ts';
import type { EventBus } from '../../core/events.ts';
import type { Json } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { FlagStore } from './flag-store.ts';
import { type Presence, PresenceStore } from './presence-store.ts';

/** A place in degrees of WGS 84. */
export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** Port: what is known about the house beside its devices. */
export interface HouseState {
  /** Returns the value of a flag; undefined if it is not set. */
  flag(name: string): Json | undefined;
  /** Returns the presence of a person; undefined if it was never set. */
  presenceOf(person: string): Presence | undefined;
  /** Returns the persons whose presence is known. */
  persons(): readonly string[];
  /** Returns where the hub is; undefined if that is not configured. */
  place(): Place | undefined;
}

interface HousePorts {
  readonly clock: Clock;
  readonly store: KeyValueStore;
  readonly events: EventBus;
}

/** Stores the flags of the house and who is at home, and knows where the house is. */
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
