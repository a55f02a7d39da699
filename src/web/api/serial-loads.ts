/**
 * Runs loads one after the other. What is requested while a load runs is loaded after it, once for all requests: the running load may have
 * read the state before it changed.
 */
export class SerialLoads<Part> {
  readonly #load: (parts: readonly Part[]) => Promise<void>;
  readonly #stale = new Set<Part>();
  #running: Promise<void> | undefined;

  /** `load` must not reject. */
  constructor(load: (parts: readonly Part[]) => Promise<void>) {
    this.#load = load;
  }

  /** Requests parts. Resolves when all requested parts are loaded. */
  request(...parts: readonly Part[]): Promise<void> {
    for (const part of parts) this.#stale.add(part);
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#stale.size > 0) {
      const parts = [...this.#stale];
      this.#stale.clear();
      await this.#load(parts);
    }
  }
}
