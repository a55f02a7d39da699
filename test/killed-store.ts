import { AtmoError } from '../src/core/errors.ts';
import type { Json } from '../src/core/json.ts';
import type { KeyValueStore } from '../src/core/storage/key-value-store.ts';

/** A store whose process is killed at the write with this number: nothing of that process happens from then on. */
export class KilledStore implements KeyValueStore {
  readonly #store: KeyValueStore;
  #writesLeft: number;
  isDead = false;

  constructor(store: KeyValueStore, writes: number) {
    this.#store = store;
    this.#writesLeft = writes;
  }

  get = (space: string, key: string) => this.#store.get(space, key);
  entries = (space: string) => this.#store.entries(space);
  delete = (space: string, key: string) => !this.isDead && this.#store.delete(space, key);

  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void {
    if (this.isDead) throw new AtmoError('STORAGE_FAILED', 'killed');
    this.#store.set(space, key, value, options);
    this.#writesLeft -= 1;
    this.isDead = this.#writesLeft <= 0;
  }
}
