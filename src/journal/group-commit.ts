interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Commits together what comes in one turn of the event loop: one transaction for many callers. */
export class GroupCommit<Item> {
  readonly #commit: (items: readonly Item[]) => void;
  #waiting: Waiting<Item>[] = [];

  /** `commit` throws when nothing was committed. */
  constructor(commit: (items: readonly Item[]) => void) {
    this.#commit = commit;
  }

  /** Resolves when the item is committed; rejects with what `commit` threw. */
  add(item: Item): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, resolve, reject });
    if (this.#waiting.length === 1) setImmediate(() => this.flush());
    return promise;
  }

  /** Commits what waits, now. */
  flush(): void {
    const group = this.#waiting;
    if (group.length === 0) return;
    this.#waiting = [];
    try {
      this.#commit(group.map(({ item }) => item));
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
