import { AtmoError } from './errors.ts';

interface GateOptions {
  /** Whose bound it is, for the refusal; default `The hub`. */
  readonly holder?: string;
  readonly maxRunning: number;
  /** How many may wait for a slot; the next one is refused. None is when absent. */
  readonly maxWaiting?: number;
}

interface Waiter {
  readonly enter: () => void;
}

/** Lets a bounded number of calls run at once, others wait in order of arrival. */
export class ConcurrencyGate {
  readonly #options: GateOptions;
  readonly #waiting = new Set<Waiter>();
  #running = 0;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Answers the function that gives the slot back; RESOURCE_EXCEEDED when the queue is full, the signal's reason when it aborts. */
  enter(signal: AbortSignal): (() => void) | Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running < this.#options.maxRunning) return this.#take();
    if (this.#waiting.size >= (this.#options.maxWaiting ?? Infinity)) {
      throw new AtmoError(
        'RESOURCE_EXCEEDED',
        `${this.#options.holder ?? 'The hub'} already has ${this.#running} calls running and ${this.#waiting.size} waiting; try again in a moment`,
      );
    }
    return this.#wait(signal);
  }

  /** Runs the work in a slot. Errors as those of `enter`. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const leave = await this.enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #wait(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        enter: () => {
          signal.removeEventListener('abort', giveUp);
          resolve(this.#take());
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #take(): () => void {
    this.#running++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running--;
      this.#admitNext();
    };
  }

  #admitNext(): void {
    const next = this.#waiting.values().next().value;
    if (!next || this.#running >= this.#options.maxRunning) return;
    this.#waiting.delete(next);
    next.enter();
  }
}
