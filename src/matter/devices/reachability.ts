import type { Clock } from '../../core/clock.ts';
import type { Reachability } from '../../core/devices/device-model.ts';

/** When a node counts as gone. */
export interface ReachabilityPolicy {
  /** A node that was silent for so long is asked. */
  readonly quietMs: number;
  /** How long one question waits for its answer. */
  readonly probeMs: number;
  /** Questions in a row without an answer until the node counts as unreachable. */
  readonly misses: number;
  /** Pause between two attempts to reach a node that is gone. */
  readonly retryMs: number;
  /** False for nodes that sleep: they are never asked, only counted as gone after `quietMs`. */
  readonly isAsked: boolean;
}

/** A loss is known after 10.5 + 2 × 1.9 s at most: the bar is 15 s. Asking more often only costs: a question takes about 2 ms of CPU. */
export const AWAKE_POLICY: ReachabilityPolicy = { quietMs: 10_500, probeMs: 1_900, misses: 2, retryMs: 5_000, isAsked: true };

// A report that the radio loses is repeated within a minute; sleep that ends sooner is no sleep to wait for.
const SHORTEST_SLEEP_MS = 60_000;

/** A sleepy node reports at least once per `maxIntervalMs`; three missed reports mean that it is gone. */
export function sleepyPolicy(maxIntervalMs: number): ReachabilityPolicy {
  return { quietMs: Math.max(maxIntervalMs * 3, SHORTEST_SLEEP_MS), probeMs: 0, misses: 1, retryMs: 60_000, isAsked: false };
}

/** How a monitor reaches its node. */
export interface ReachabilityLink {
  /** When anything from the node arrived last, ms since 1970; 0 when never since the start. */
  lastHeardMs(): number;
  /** Asks the node, connecting first where there is no session; true when it answered within `timeoutMs`. Never throws. */
  probe(timeoutMs: number): Promise<boolean>;
  /** Ends sessions with a node that does not answer, so that all that waits fails and a new connection is sought. */
  drop(): void;
}

interface MonitorOptions {
  readonly clock: Clock;
  /** The policy at this moment: whether a node sleeps is known only when it has said so. */
  readonly policy: () => ReachabilityPolicy;
  readonly link: ReachabilityLink;
  /** 0 to 1; spreads the questions to many nodes over time. */
  readonly random: () => number;
  onChange(reachability: Reachability): void;
}

/** Whether one node can be reached: `unknown` from the start until it was heard or missed for the first time. */
export class ReachabilityMonitor {
  readonly #options: MonitorOptions;
  #state: Reachability = 'unknown';
  #misses = 0;
  #isAsking = false;
  #isStopped = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: MonitorOptions) {
    this.#options = options;
  }

  get state(): Reachability {
    return this.#state;
  }

  start(): void {
    this.#schedule(this.#options.policy().quietMs);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  /** The node answered, reported or connected. */
  noteMessage(): void {
    if (this.#isStopped) return;
    this.#misses = 0;
    if (this.#state === 'reachable') return;
    this.#become('reachable');
    this.#schedule(this.#options.policy().quietMs);
  }

  /** Something speaks against the node being there: a call without an answer, a lost session, a new address. */
  suspect(): void {
    if (this.#isStopped || !this.#options.policy().isAsked) return;
    this.#check(0);
  }

  #check(quietMs: number): void {
    if (this.#isStopped || this.#isAsking) return;
    const { link, clock } = this.#options;
    const policy = this.#options.policy();
    const silentMs = clock.now() - link.lastHeardMs();
    if (silentMs < quietMs) {
      this.noteMessage();
      this.#schedule(policy.quietMs - silentMs);
      return;
    }
    if (policy.isAsked) void this.#ask();
    else this.#miss();
  }

  async #ask(): Promise<void> {
    this.#cancelTimer?.();
    this.#isAsking = true;
    const isThere = await this.#options.link.probe(this.#options.policy().probeMs);
    this.#isAsking = false;
    if (this.#isStopped) return;
    if (!isThere) return this.#miss();
    this.noteMessage();
    this.#schedule(this.#options.policy().quietMs);
  }

  #miss(): void {
    const { link } = this.#options;
    const policy = this.#options.policy();
    this.#misses += 1;
    if (this.#misses < policy.misses) {
      void this.#ask();
      return;
    }
    if (this.#state !== 'unreachable') {
      link.drop();
      this.#become('unreachable');
    }
    this.#schedule(policy.retryMs);
  }

  #become(state: Reachability): void {
    this.#state = state;
    this.#options.onChange(state);
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer?.();
    // Up to a tenth earlier, never later: the time within which a loss is known stays a promise.
    const jitteredMs = delayMs * (1 - this.#options.random() / 10);
    this.#cancelTimer = this.#options.clock.after(jitteredMs, () => this.#check(this.#options.policy().quietMs * 0.8));
  }
}
