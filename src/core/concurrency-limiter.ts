import { type Principal, principalKey } from './auth/principal.ts';
import { AtmoError } from './errors.ts';

interface LimiterOptions {
  /** Whose limit it is, for error messages; default: `The hub`. */
  readonly holder?: string;
  readonly maxRunning: number;
  /** Maximum number of waiting calls; default: no maximum. Further calls are refused. */
  readonly maxWaiting?: number;
}

/** Limits how many calls run at once. Further calls wait and start in order of arrival. */
export class ConcurrencyLimiter {
  readonly #options: LimiterOptions;
  /** Callbacks that start the waiting calls, in order of arrival. */
  readonly #waiting = new Set<() => void>();
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

  /** Waits for a slot; returns a function that releases it. Throws RESOURCE_EXCEEDED if the queue is full, or the signal's abort reason. */
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

  /** Runs `work` in a slot. Rejects with the errors of `enter` and of `work`. */
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
        this.#waiting.delete(admit);
        reject(signal.reason);
      };
      const admit = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(this.#take());
      };
      this.#waiting.add(admit);
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
    next();
  }
}

/** Maximum numbers of running and of waiting calls, in total and for one caller. */
interface CallerLimiterOptions {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly maxRunningPerCaller: number;
  readonly maxWaitingPerCaller: number;
}

/**
 * Limits the running calls in total and per caller. A call first waits until its caller may run another call. Only then does it join the
 * queue of all callers, so that many calls of one caller do not delay other callers.
 */
export class CallerConcurrencyLimiter {
  readonly #options: CallerLimiterOptions;
  readonly #hub: ConcurrencyLimiter;
  readonly #callers = new Map<string, ConcurrencyLimiter>();

  constructor(options: CallerLimiterOptions) {
    this.#options = options;
    this.#hub = new ConcurrencyLimiter({ maxRunning: options.maxRunning, maxWaiting: options.maxWaiting });
  }

  get callers(): number {
    return this.#callers.size;
  }

  /** Waits until the principal may run another call, then for a slot of the hub. Returns and throws like `ConcurrencyLimiter.enter`. */
  async enter(principal: Principal, signal: AbortSignal): Promise<() => void> {
    const key = callerKey(principal);
    const own = this.#limiterOf(key);
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

  #limiterOf(key: string): ConcurrencyLimiter {
    const known = this.#callers.get(key);
    if (known) return known;
    const { maxRunningPerCaller: maxRunning, maxWaitingPerCaller: maxWaiting } = this.#options;
    const limiter = new ConcurrencyLimiter({ holder: 'This caller', maxRunning, maxWaiting });
    this.#callers.set(key, limiter);
    return limiter;
  }

  #forget(key: string): void {
    const limiter = this.#callers.get(key);
    if (limiter && limiter.running + limiter.waiting === 0) this.#callers.delete(key);
  }
}

/** Returns the key of the caller. An agent and its descendants have the same key, so that children do not raise the limit. */
function callerKey(principal: Principal): string {
  const root = principal.token?.chain[0];
  return root === undefined ? principalKey(principal) : `token:${root}`;
}
