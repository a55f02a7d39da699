import type { Json } from '../../src/core/json.ts';
import type { KeyValueStore } from '../../src/core/key-value-store.ts';

/** The state of a simulated hub; it outlives the hub where the hub is restarted with it. */
export class MemoryStore implements KeyValueStore {
  readonly #values = new Map<string, Json>();

  get(space: string, key: string): Json | undefined {
    return this.#values.get(`${space} ${key}`);
  }

  set(space: string, key: string, value: Json): void {
    this.#values.set(`${space} ${key}`, value);
  }

  delete(space: string, key: string): boolean {
    return this.#values.delete(`${space} ${key}`);
  }

  entries(space: string): readonly { readonly key: string; readonly value: Json }[] {
    const prefix = `${space} `;
    return [...this.#values].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key: key.slice(prefix.length), value }));
  }
}
