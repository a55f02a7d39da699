import { orAborted } from '../../core/time/or-aborted.ts';

/**
 * A way that only one goes at a time. A read of the kernel cannot be called back: whoever gives up waiting leaves the lane taken until
 * the kernel lets go, so that a bus that hangs costs one thread and never all of them.
 */
export class Lane {
  #isTaken = false;

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Does the work, or rejects with the signal's reason when that aborts first. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#isTaken = true;
    const done = work().finally(() => {
      this.#isTaken = false;
    });
    return orAborted(done, signal);
  }
}
