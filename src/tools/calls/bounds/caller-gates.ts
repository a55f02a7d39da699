import { type Principal, principalKey } from '../../../core/access/principal.ts';
import { ConcurrencyGate } from '../../../core/concurrency-gate.ts';

/** How many calls may run at once and wait for that, in all and for one caller. */
interface CallerGateOptions {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly maxRunningPerCaller: number;
  readonly maxWaitingPerCaller: number;
}

/**
 * Bounds the calls that run at once. Each caller waits in a queue of its own before it joins the common one with at most as
 * many calls as it may run, so nobody's queue stands in the way of somebody else's call.
 */
export class CallerGates {
  readonly #options: CallerGateOptions;
  readonly #hub: ConcurrencyGate;
  readonly #callers = new Map<string, ConcurrencyGate>();

  constructor(options: CallerGateOptions) {
    this.#options = options;
    this.#hub = new ConcurrencyGate({ maxRunning: options.maxRunning, maxWaiting: options.maxWaiting });
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

  #gateOf(key: string): ConcurrencyGate {
    const known = this.#callers.get(key);
    if (known) return known;
    const { maxRunningPerCaller: maxRunning, maxWaitingPerCaller: maxWaiting } = this.#options;
    const gate = new ConcurrencyGate({ holder: 'This caller', maxRunning, maxWaiting });
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
