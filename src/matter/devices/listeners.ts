/** Those who want to hear something, told in order; one that fails never keeps it from the others. */
export class Listeners<Message> {
  readonly #listeners = new Set<(message: Message) => void>();

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  add(listener: (message: Message) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(message: Message): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(message);
      } catch {
        // A listener's bug is its own.
      }
    }
  }
}
