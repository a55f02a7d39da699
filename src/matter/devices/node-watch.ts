import { NetworkClient } from '@matter/main/node';
import { SustainedSubscription } from '@matter/main/protocol';
import type { Clock } from '../../core/clock.ts';
import type { Reachability } from '../../core/devices/device-model.ts';
import type { Logger } from '../../core/logger.ts';
import type { NodeDevices } from './node-devices.ts';
import { AWAKE_POLICY, ReachabilityMonitor, sleepyPolicy } from './reachability.ts';

interface NodeWatchOptions {
  readonly node: NodeDevices;
  readonly clock: Clock;
  readonly logger: Logger;
  onReachability(reachability: Reachability): void;
  /** Endpoints, clusters or names may have changed. */
  onStructure(): void;
  /** A subscription was established: every cached value is what the device says now. */
  onFresh(): void;
}

interface Watchable<Arguments extends unknown[]> {
  on(listener: (...values: Arguments) => void): void;
  off(listener: (...values: Arguments) => void): void;
}

const STRUCTURE_BEHAVIORS = new Set(['descriptor', 'basicInformation', 'bridgedDeviceBasicInformation']);
const STRUCTURE_ATTRIBUTES = new Set(['attributeList', 'acceptedCommandList', 'featureMap', 'clusterRevision']);
// matter.js installs new endpoints some time after the report that told of them, and does not say when: on a busy board
// the first look comes too early.
const STRUCTURE_DELAYS_MS = [150, 1_000, 4_000] as const;
const ANNOUNCEMENT_DELAY_MS = 250;
// Before a subscription has negotiated an interval, one report per ten minutes is assumed of a sleepy node.
const SLEEPY_INTERVAL_MS = 600_000;

/** Follows one node over time: signs of life, sessions, announcements, subscription and structure. */
export class NodeWatch {
  readonly node: NodeDevices;
  readonly #options: NodeWatchOptions;
  readonly #monitor: ReachabilityMonitor;
  readonly #stops: (() => void)[] = [];
  #intervalMs = SLEEPY_INTERVAL_MS;
  #cancelStructure: (() => void) | undefined;
  #awaitsFirstLook = false;
  #cancelAnnouncement: (() => void) | undefined;

  constructor(options: NodeWatchOptions) {
    this.node = options.node;
    this.#options = options;
    this.#monitor = new ReachabilityMonitor({
      clock: options.clock,
      policy: () => (options.node.isSleepy ? sleepyPolicy(this.#reportIntervalMs()) : AWAKE_POLICY),
      link: options.node.link,
      random: Math.random,
      onChange: (reachability) => this.#changed(reachability),
    });
  }

  start(): void {
    const { node } = this;
    const network = node.node.eventsOf(NetworkClient);
    this.#listen(network.subscriptionAlive, () => this.#confirm());
    this.#listen(network.subscriptionStatusChanged, (isActive: boolean) => this.#subscription(isActive));
    const { peer } = node.link;
    if (peer !== undefined) {
      this.#listen(peer.sessions.added, () => this.#monitor.noteMessage());
      this.#listen(peer.sessions.deleted, () => this.#sessionEnded());
      this.#listen(peer.service.changed, () => this.#announced());
    }
    if (this.#runningSubscription() !== undefined) this.#subscription(true);
    this.#monitor.start();
  }

  stop(): void {
    this.#monitor.stop();
    this.#cancelStructure?.();
    this.#cancelAnnouncement?.();
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** A call ended with an answer, or in silence. */
  noteOutcome(isAlive: boolean): void {
    if (isAlive) {
      this.node.heardMs = this.#options.clock.now();
      this.#monitor.noteMessage();
    } else {
      this.#monitor.suspect();
    }
  }

  noteUpdate(behavior: string, properties: readonly string[] | undefined): void {
    if (STRUCTURE_BEHAVIORS.has(behavior) || properties?.some((name) => STRUCTURE_ATTRIBUTES.has(name))) this.noteStructure();
  }

  /** Looks at the structure again shortly, once for many changes, and then twice more. */
  noteStructure(): void {
    if (this.#awaitsFirstLook) return;
    this.#cancelStructure?.();
    this.#awaitsFirstLook = true;
    this.#lookAfter(STRUCTURE_DELAYS_MS);
  }

  #lookAfter([delayMs, ...rest]: readonly number[]): void {
    if (delayMs === undefined) return;
    this.#cancelStructure = this.#options.clock.after(delayMs, () => {
      this.#awaitsFirstLook = false;
      this.#options.onStructure();
      this.#lookAfter(rest);
    });
  }

  #runningSubscription(): SustainedSubscription | undefined {
    const running = this.node.node.behaviors.internalsOf(NetworkClient).activeSubscription;
    return running instanceof SustainedSubscription && running.active.value ? running : undefined;
  }

  /** At least so often a report comes, as the running subscription negotiated it. */
  #reportIntervalMs(): number {
    const seconds = this.#runningSubscription()?.maxInterval;
    this.#intervalMs = seconds === undefined ? this.#intervalMs : seconds * 1_000;
    return this.#intervalMs;
  }

  #confirm(): void {
    this.node.confirmedMs = this.#options.clock.now();
    this.#monitor.noteMessage();
  }

  #subscription(isActive: boolean): void {
    if (!isActive) {
      this.#monitor.suspect();
      return;
    }
    this.#confirm();
    this.#options.onFresh();
    // What came before nobody listened, as after a start in the middle of a commissioning, is not told again.
    this.noteStructure();
  }

  #sessionEnded(): void {
    if (this.node.link.peer?.hasSession !== true) this.#monitor.suspect();
  }

  // Announcements come in bursts of records; the address is known after the last one.
  #announced(): void {
    this.#cancelAnnouncement?.();
    this.#cancelAnnouncement = this.#options.clock.after(ANNOUNCEMENT_DELAY_MS, () => {
      const { link } = this.node;
      if (this.#monitor.state === 'unreachable') void link.reconnect().then(() => this.#monitor.suspect());
      else if (link.hasMoved()) this.#monitor.suspect();
    });
  }

  #changed(reachability: Reachability): void {
    this.#options.logger.info('device.reachability', { node: this.node.nodeId, reachability });
    if (reachability === 'unreachable') this.node.remember();
    this.#options.onReachability(reachability);
  }

  #listen<Arguments extends unknown[]>(source: Watchable<Arguments>, listener: (...values: Arguments) => void): void {
    source.on(listener);
    this.#stops.push(() => source.off(listener));
  }
}
