import type { Clock } from '../../core/clock.ts';
import type { Reachability } from '../../core/devices/device-model.ts';

/** When a node counts as unreachable. */
export interface ReachabilityPolicy {
  /** Time of silence after which the node is probed. */
  readonly quietMs: number;
  /** Time limit of a probe. */
  readonly probeMs: number;
  /** Failed probes in a row until the node counts as unreachable. */
  readonly misses: number;
  /** Pause between two probes of an unreachable node. */
  readonly retryMs: number;
  /** False for nodes that sleep: they are never probed, and count as unreachable after `quietMs`. */
  readonly isProbed: boolean;
}

/** A loss is detected after 10.5 + 2 × 1.9 s at most: the requirement is 15 s. A probe takes about 2 ms of CPU. */
export const AWAKE_POLICY: ReachabilityPolicy = { quietMs: 10_500, probeMs: 1_900, misses: 2, retryMs: 5_000, isProbed: true };

// A report that the radio loses is repeated within a minute: shorter silence means nothing.
const SHORTEST_SLEEP_MS = 60_000;

/** A sleepy node reports at least once per `maxIntervalMs`; after three missed reports it counts as unreachable. */
export function sleepyPolicy(maxIntervalMs: number): ReachabilityPolicy {
  return { quietMs: Math.max(maxIntervalMs * 3, SHORTEST_SLEEP_MS), probeMs: 0, misses: 1, retryMs: 60_000, isProbed: false };
}

/** The connection of a monitor to its node. */
export interface ReachabilityLink {
  /** Time of the last message from the node, ms since 1970; 0 before the first. */
  lastReceivedMs(): number;
  /** Probes the node, and connects first without a session; returns true if it answers within `timeoutMs`. Never throws. */
  probe(timeoutMs: number): Promise<boolean>;
  /** Ends sessions with a node that does not answer, so that all pending requests fail and a new connection begins. */
  drop(): void;
}

interface MonitorOptions {
  readonly clock: Clock;
  /** Returns the present policy: whether a node sleeps is known only after its structure was read. */
  readonly policy: () => ReachabilityPolicy;
  readonly link: ReachabilityLink;
  /** 0 to 1; spreads the probes of many nodes over time. */
  readonly random: () => number;
  onChange(reachability: Reachability): void;
}

/** Detects whether one node can be reached: `unknown` until its first message or first failed probe. */
export class ReachabilityMonitor {
  readonly #options: MonitorOptions;
  #state: Reachability = 'unknown';
  #misses = 0;
  #isProbing = false;
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

  /** Probes the node after a sign of its loss: a call without an answer, a lost session, a new address. */
  suspect(): void {
    if (this.#isStopped || !this.#options.policy().isProbed) return;
    this.#check(0);
  }

  #check(quietMs: number): void {
    if (this.#isStopped || this.#isProbing) return;
    const { link, clock } = this.#options;
    const policy = this.#options.policy();
    const silentMs = clock.now() - link.lastReceivedMs();
    if (silentMs < quietMs) {
      this.noteMessage();
      this.#schedule(policy.quietMs - silentMs);
      return;
    }
    if (policy.isProbed) void this.#probe();
    else this.#miss();
  }

  async #probe(): Promise<void> {
    this.#cancelTimer?.();
    this.#isProbing = true;
    const isAlive = await this.#options.link.probe(this.#options.policy().probeMs);
    this.#isProbing = false;
    if (this.#isStopped) return;
    if (!isAlive) return this.#miss();
    this.noteMessage();
    this.#schedule(this.#options.policy().quietMs);
  }

  #miss(): void {
    const { link } = this.#options;
    const policy = this.#options.policy();
    this.#misses += 1;
    if (this.#misses < policy.misses) {
      void this.#probe();
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
    // Up to a tenth earlier, never later: the time limit of the detection holds.
    const jitteredMs = delayMs * (1 - this.#options.random() / 10);
    this.#cancelTimer = this.#options.clock.after(jitteredMs, () => this.#check(this.#options.policy().quietMs * 0.8));
  }
}
