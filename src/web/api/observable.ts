/** Something whose change others want to hear of; changes of one moment are told once. */
export class Observable {
  readonly #listeners = new Set<() => void>();
  #isTold = true;

  /** Listens; the answer stops it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the listeners soon. */
  protected changed(): void {
    if (!this.#isTold) return;
    this.#isTold = false;
    queueMicrotask(() => {
      this.#isTold = true;
      for (const listener of [...this.#listeners]) listener();
    });
  }
}
