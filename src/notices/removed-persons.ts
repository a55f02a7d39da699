import { attemptWrite } from '../core/files/file-system.ts';
import type { Service } from '../core/lifecycle.ts';

/** Something that keeps what belongs to persons, by their names. */
export interface PersonalStore {
  /** Returns the names of all persons of whom it keeps something. */
  persons(): Iterable<string>;
  /** Deletes what belongs to a person. Throws STORAGE_FAILED if that cannot be stored. */
  removePerson(name: string): void;
}

interface RemovalCollaborators {
  readonly people: {
    /** Calls `listener` while a person is removed, before the name is free again; the returned function unsubscribes. */
    onRemoved(listener: (name: string) => void): () => void;
    /** Returns whether the household has a person of this name, be it one who leaves or whose record cannot be read. */
    isKnown(name: string): boolean;
  };
  readonly stores: readonly PersonalStore[];
}

/**
 * Deletes what stores keep of persons who are removed, such as their notices, questions, choices and presence. A person is known by name, so the next one of that name
 * would get them otherwise.
 */
export class RemovedPersons implements Service {
  readonly #collaborators: RemovalCollaborators;
  #stop: () => void = () => {};

  constructor(collaborators: RemovalCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Also deletes what belongs to persons who were removed when this could not be done, such as at the start of the hub. */
  async start(): Promise<void> {
    const { people, stores } = this.#collaborators;
    this.#stop = people.onRemoved((name) => this.#remove(name));
    const names = new Set(stores.flatMap((store) => [...store.persons()]));
    for (const name of names) if (!people.isKnown(name)) attemptWrite(() => this.#remove(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
  }

  #remove(name: string): void {
    for (const store of this.#collaborators.stores) store.removePerson(name);
  }
}
