import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

const SPACE = 'house.presence';
const MAX_PERSONS = 64;

/** Whether a person is at home. */
export type Presence = 'home' | 'away';

/** Where a person is, and who said so. Times are in milliseconds since 1970. */
export interface PersonPresence {
  readonly person: string;
  readonly presence: Presence;
  /** Id of the principal that said so. */
  readonly setBy: string;
  readonly sinceMs: number;
}

interface PresencePorts {
  readonly clock: Clock;
  readonly store: KeyValueStore;
  readonly events: EventBus;
}

/** Stores where each person is. Phones, agents and persons report it. The hub does not guess: without a report, it does not know. */
export class PresenceStore {
  readonly #ports: PresencePorts;
  readonly #known = new Map<string, PersonPresence>();

  constructor(ports: PresencePorts) {
    this.#ports = ports;
  }

  load(): void {
    for (const { key, value } of this.#ports.store.entries(SPACE)) {
      // The cast is safe because only this class writes presences.
      if (isJsonObject(value)) this.#known.set(key, value as unknown as PersonPresence);
    }
  }

  get(person: string): PersonPresence | undefined {
    return this.#known.get(person);
  }

  /** Returns what is known, sorted by person. */
  list(): readonly PersonPresence[] {
    return [...this.#known.values()].sort((a, b) => (a.person < b.person ? -1 : 1));
  }

  /** Stores where a person is. Returns whether that changed. Throws RESOURCE_EXCEEDED (too many persons) or STORAGE_FAILED. */
  set({ person, presence, setBy }: Omit<PersonPresence, 'sinceMs'>): boolean {
    const { clock, store, events } = this.#ports;
    const before = this.#known.get(person);
    if (before?.presence === presence) return false;
    if (!before && this.#known.size >= MAX_PERSONS) {
      throw new AtmoError('RESOURCE_EXCEEDED', `The presence of ${MAX_PERSONS} persons is known, which is the most`);
    }
    const now = { person, presence, setBy, sinceMs: clock.now() };
    store.set(SPACE, person, now as Json);
    this.#known.set(person, now);
    events.emit('house.changed', 'presence', { person, presence, before: before?.presence ?? null });
    return true;
  }

  /** Returns the names of all persons of whom it is known where they are. */
  persons(): Iterable<string> {
    return this.#known.keys();
  }

  /** Deletes where a person is, who does not belong to the household any more. Throws STORAGE_FAILED if that cannot be stored. */
  removePerson(name: string): void {
    const before = this.#known.get(name);
    if (!before) return;
    const { store, events } = this.#ports;
    store.delete(SPACE, name);
    this.#known.delete(name);
    events.emit('house.changed', 'presence', { person: name, presence: null, before: before.presence });
  }
}
