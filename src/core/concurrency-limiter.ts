import { type Principal, principalKey } from './auth/principal.ts';
import { AtmoError } from './errors.ts';

interface LimiterOptions {
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
export class ConcurrencyLimiter {
  readonly #options: LimiterOptions;
  readonly #waiting = new Set<Waiter>();
  #running = 0;

  constructor(options: LimiterOptions) {
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

/** How many calls may run at once and wait for that, in all and for one caller. */
interface CallerLimiterOptions {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly maxRunningPerCaller: number;
  readonly maxWaitingPerCaller: number;
}

/**
 * Bounds the calls that run at once. Each caller waits in a queue of its own before it joins the common one with at most as
 * many calls as it may run, so nobody's queue stands in the way of somebody else's call.
 */
export class CallerConcurrencyLimiter {
  readonly #options: CallerLimiterOptions;
  readonly #hub: ConcurrencyLimiter;
  readonly #callers = new Map<string, ConcurrencyLimiter>();

  constructor(options: CallerLimiterOptions) {
    this.#options = options;
    this.#hub = new ConcurrencyLimiter({ maxRunning: options.maxRunning, maxWaiting: options.maxWaiting });
  }

  /** Callers with calls that run or wait. */
  get callers(): number {
    return this.#callers.size;
  }

  /** Answers the function that gives the slot back; RESOURCE_EXCEEDED when a queue is full, the signal's reason when it aborts. */
  async enter(principal: Principal, signal: AbortSignal): Promise<() => void> {
    const key = callerKey(principal);
    const own = this.#gateOf(key);
    let leaveOwn = () => {};
    try {
      leaveOwn = await own.enter(signal);
      const leaveHub = await this.#hub.enter(signal);
      return () => {
        leaveHub();
        leaveOwn();
        this.#forget(key);
      };
    } catch (error) {
      leaveOwn();
      this.#forget(key);
      throw error;
    }
  }

  #gateOf(key: string): ConcurrencyLimiter {
    const known = this.#callers.get(key);
    if (known) return known;
    const { maxRunningPerCaller: maxRunning, maxWaitingPerCaller: maxWaiting } = this.#options;
    const gate = new ConcurrencyLimiter({ holder: 'This caller', maxRunning, maxWaiting });
    this.#callers.set(key, gate);
    return gate;
  }

  #forget(key: string): void {
    const gate = this.#callers.get(key);
    if (gate && gate.running + gate.waiting === 0) this.#callers.delete(key);
  }
}

/** An agent and all that it spawned are one caller: nobody gets more by having children. */
function callerKey(principal: Principal): string {
  const root = principal.token?.chain[0];
  return root === undefined ? principalKey(principal) : `token:${root}`;
}
