import { orAborted } from '../../core/or-aborted.ts';

/** How many programs run at a time; who comes later waits. */
export class RunningPrograms {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs the work as soon as there is room; the signal ends the waiting with its reason. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    while (this.#running >= this.#limit) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await this.#turn(promise, resolve, signal);
    }
    this.#running += 1;
  }

  async #turn(promise: Promise<void>, resolve: () => void, signal: AbortSignal): Promise<void> {
    try {
      await orAborted(promise, signal);
    } catch (error) {
      const place = this.#waiting.indexOf(resolve);
      // It was woken at the same moment: the next one gets its turn.
      if (place === -1) this.#waiting.shift()?.();
      else this.#waiting.splice(place, 1);
      throw error;
    }
  }
}
