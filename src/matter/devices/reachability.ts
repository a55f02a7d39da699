import type { Clock } from '../../core/clock.ts';
import type { Reachability } from '../../core/devices/device-model.ts';

/** Times and limits that decide when a node is probed and when it counts as unreachable. */
export interface ReachabilityPolicy {
  /** Milliseconds without a message after which the node is probed. */
  readonly quietMs: number;
  readonly probeMs: number;
  /** Number of consecutive failed probes after which the node counts as unreachable. */
  readonly misses: number;
  /** Milliseconds between two probes of an unreachable node. */
  readonly retryMs: number;
  /** False for a sleepy node: it is never probed, and counts as unreachable after `quietMs`. */
  readonly isProbed: boolean;
}

/**
 * The policy for nodes that always listen and that somebody reads, calls or relies on. A loss is detected within 14.3 s
 * (10.5 s + 2 × 1.9 s); the requirement is 15 s. A probe costs about 2 ms of CPU time.
 */
export const AWAKE_POLICY: ReachabilityPolicy = { quietMs: 10_500, probeMs: 1_900, misses: 2, retryMs: 5_000, isProbed: true };

/**
 * The policy for all other nodes that always listen. A loss is detected within 54 s (50 s + 2 × 1.9 s); the requirement is 60 s. A node
 * whose subscription reports every 30 s is never probed.
 */
export const IDLE_POLICY: ReachabilityPolicy = { ...AWAKE_POLICY, quietMs: 50_000 };

// Minimum time in milliseconds before a silent sleepy node counts as lost, since the node repeats a lost report within a minute.
const SHORTEST_SLEEP_MS = 60_000;

/** Returns the policy for a sleepy node that reports at least once per `maxIntervalMs`: it is unreachable after three missed reports. */
export function sleepyPolicy(maxIntervalMs: number): ReachabilityPolicy {
  return { quietMs: Math.max(maxIntervalMs * 3, SHORTEST_SLEEP_MS), probeMs: 0, misses: 1, retryMs: 60_000, isProbed: false };
}

/** The connection to a node, as ReachabilityMonitor uses it. */
export interface ReachabilityLink {
  /** Returns when the last message from the node arrived, in ms since 1970; 0 before the first message. */
  lastReceivedMs(): number;
  /** Probes the node, or connects if there is no session. Returns whether the node responds within `timeoutMs`. Never throws. */
  probe(timeoutMs: number): Promise<boolean>;
  /** Ends the sessions with a silent node, so that all pending requests fail and the next request connects anew. */
  drop(): void;
}

interface MonitorOptions {
  readonly clock: Clock;
  /** Returns the current policy. The policy changes when the hub learns from the node's structure that the node sleeps. */
  readonly policy: () => ReachabilityPolicy;
  readonly link: ReachabilityLink;
  /** Returns a random number from 0 to 1, which spreads the probes of many nodes over time. */
  readonly random: () => number;
  onChange(reachability: Reachability): void;
}

/** Detects whether one node can be reached; the state is `unknown` until the first message or failed probe. */
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

  /** Must be called when the node has responded, reported or connected. */
  noteMessage(): void {
    if (this.#isStopped) return;
    this.#misses = 0;
    if (this.#state === 'reachable') return;
    this.#become('reachable');
    this.#schedule(this.#options.policy().quietMs);
  }

  /** Must be called when the policy may have become stricter. Probes the node if it has been silent for too long under the policy of now. */
  noteStricterPolicy(): void {
    if (this.#state === 'reachable') this.#check(this.#options.policy().quietMs);
  }

  /** Probes the node if its policy allows probes. Called when a call gets no response, a session is lost or the node has a new address. */
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
    // A probe starts up to 10 % earlier than planned, and never later, so that a loss is always detected in time.
    const jitteredMs = delayMs * (1 - this.#options.random() / 10);
    const check = () => this.#check(this.#options.policy().quietMs * 0.8);
    this.#cancelTimer = this.#options.clock.after(jitteredMs, check, jitteredMs / 10);
  }
}
