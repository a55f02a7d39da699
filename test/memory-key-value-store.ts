import type { Clock } from '../src/core/clock.ts';
import type { Json } from '../src/core/json.ts';
import type { KeyValueStore } from '../src/core/storage/key-value-store.ts';

/** A key-value store in memory; what it holds for a time ends by a clock that tests move. */
export class MemoryKeyValueStore implements KeyValueStore {
  readonly #spaces = new Map<string, Map<string, { value: Json; untilMs: number }>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(space: string, key: string): Json | undefined {
    const entry = this.#space(space).get(key);
    return entry && entry.untilMs > this.#clock.now() ? entry.value : undefined;
  }

  set(space: string, key: string, value: Json, options: { readonly ttlMs?: number } = {}): void {
    const untilMs = this.#clock.now() + (options.ttlMs ?? Number.MAX_SAFE_INTEGER / 2);
    this.#space(space).set(key, { value: JSON.parse(JSON.stringify(value)), untilMs });
  }

  delete(space: string, key: string): boolean {
    return this.#space(space).delete(key);
  }

  entries(space: string): readonly { readonly key: string; readonly value: Json }[] {
    return [...this.#space(space)].filter(([, entry]) => entry.untilMs > this.#clock.now()).map(([key, { value }]) => ({ key, value }));
  }

  #space(name: string): Map<string, { value: Json; untilMs: number }> {
    const space = this.#spaces.get(name) ?? new Map();
    this.#spaces.set(name, space);
    return space;
  }
}
