import type { Json } from '../../src/core/json.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';

/** A key-value store that forgets with the test; values cross it as JSON, as they do on the disk. */
export class MemoryStore implements KeyValueStore {
  readonly #texts = new Map<string, string>();
  /** Set by a test to let every write fail. */
  fault: Error | undefined;

  get(space: string, key: string): Json | undefined {
    const text = this.#texts.get(`${space}\n${key}`);
    return text === undefined ? undefined : (JSON.parse(text) as Json);
  }

  set(space: string, key: string, value: Json): void {
    if (this.fault !== undefined) throw this.fault;
    this.#texts.set(`${space}\n${key}`, JSON.stringify(value));
  }

  delete(space: string, key: string): boolean {
    return this.#texts.delete(`${space}\n${key}`);
  }

  entries(space: string): readonly { readonly key: string; readonly value: Json }[] {
    return [...this.#texts]
      .filter(([id]) => id.startsWith(`${space}\n`))
      .map(([id, text]) => ({ key: id.slice(space.length + 1), value: JSON.parse(text) as Json }));
  }
}
