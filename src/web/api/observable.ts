/** An object that notifies listeners of its changes. Several changes in one task cause only one notification. */
export class Observable {
  readonly #listeners = new Set<() => void>();
  #isNotified = true;

  /** Adds a listener. Returns a function that removes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies the listeners in a microtask. A subclass calls this after each change. */
  protected changed(): void {
    if (!this.#isNotified) return;
    this.#isNotified = false;
    queueMicrotask(() => {
      this.#isNotified = true;
      for (const listener of [...this.#listeners]) listener();
    });
  }
}
