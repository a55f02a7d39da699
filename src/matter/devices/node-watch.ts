import { NetworkClient } from '@matter/main/node';
import { SustainedSubscription } from '@matter/main/protocol';
import type { HubContext } from '../../core/context.ts';
import type { AttendedDevices, DeviceAttention } from '../../core/devices/device-attention.ts';
import type { Reachability } from '../../core/devices/device-model.ts';
import type { NodeDevices } from './node-devices.ts';
import { AWAKE_POLICY, IDLE_POLICY, ReachabilityMonitor, type ReachabilityPolicy, sleepyPolicy } from './reachability.ts';

interface NodeWatchOptions extends Pick<HubContext, 'clock' | 'logger'> {
  readonly node: NodeDevices;
  readonly attention: Pick<DeviceAttention, 'isAttended' | 'onAttention'>;
  onReachability(reachability: Reachability): void;
  /** Called when endpoints, clusters or names may have changed. */
  onStructure(): void;
  /** Called when a subscription was established: every cached value is now current. */
  onFresh(): void;
}

interface Watchable<Arguments extends unknown[]> {
  on(listener: (...values: Arguments) => void): void;
  off(listener: (...values: Arguments) => void): void;
}

const STRUCTURE_BEHAVIORS = new Set(['descriptor', 'basicInformation', 'bridgedDeviceBasicInformation']);
const STRUCTURE_ATTRIBUTES = new Set(['attributeList', 'acceptedCommandList', 'featureMap', 'clusterRevision']);
// The structure is read after each of these delays (in ms): matter.js adds a new endpoint some time after its report, without an event.
const STRUCTURE_DELAYS_MS = [150, 1_000, 4_000] as const;
const ANNOUNCEMENT_DELAY_MS = 250;
// The hub assumes this report interval (in ms) for a sleepy node until a subscription has negotiated one.
const SLEEPY_INTERVAL_MS = 600_000;

/** Watches one node: answers, sessions, DNS-SD announcements, subscription and structure. */
export class NodeWatch {
  readonly node: NodeDevices;
  readonly #options: NodeWatchOptions;
  readonly #monitor: ReachabilityMonitor;
  readonly #stops: (() => void)[] = [];
  #intervalMs = SLEEPY_INTERVAL_MS;
  #cancelStructure: (() => void) | undefined;
  #awaitsFirstRead = false;
  #cancelAnnouncement: (() => void) | undefined;

  constructor(options: NodeWatchOptions) {
    this.node = options.node;
    this.#options = options;
    this.#monitor = new ReachabilityMonitor({
      clock: options.clock,
      policy: () => this.#policy(),
      link: options.node.link,
      random: Math.random,
      onChange: (reachability) => this.#onReachability(reachability),
    });
  }

  /** Whether a subscription runs. It begins with all values that the node reports, so from then on the hub knows the present ones. */
  get isSubscribed(): boolean {
    return this.#runningSubscription() !== undefined;
  }

  start(): void {
    const { node } = this;
    const network = node.node.eventsOf(NetworkClient);
    this.#listen(network.subscriptionAlive, () => this.#confirm());
    this.#listen(network.subscriptionStatusChanged, (isActive: boolean) => this.#onSubscription(isActive));
    this.#stops.push(this.#options.attention.onAttention((devices) => this.#onAttention(devices)));
    const { peer } = node.link;
    if (peer !== undefined) {
      this.#listen(peer.sessions.added, () => this.#monitor.noteMessage());
      this.#listen(peer.sessions.deleted, () => this.#onSessionEnd());
      this.#listen(peer.service.changed, () => this.#onAnnouncement());
    }
    if (this.#runningSubscription() !== undefined) this.#onSubscription(true);
    this.#monitor.start();
  }

  stop(): void {
    this.#monitor.stop();
    this.#cancelStructure?.();
    this.#cancelAnnouncement?.();
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** Must be called after each call to the node; `isAlive` is true if the node answered. */
  noteOutcome(isAlive: boolean): void {
    if (isAlive) {
      this.node.answeredMs = this.#options.clock.now();
      this.#monitor.noteMessage();
      this.#monitor.noteStricterPolicy();
    } else {
      this.#monitor.suspect();
    }
  }

  noteUpdate(behavior: string, properties: readonly string[] | undefined): void {
    if (STRUCTURE_BEHAVIORS.has(behavior) || properties?.some((name) => STRUCTURE_ATTRIBUTES.has(name))) this.noteStructure();
  }

  /** Schedules three reads of the structure. Until the first read, further calls do nothing. */
  noteStructure(): void {
    if (this.#awaitsFirstRead) return;
    this.#cancelStructure?.();
    this.#awaitsFirstRead = true;
    this.#readAfter(STRUCTURE_DELAYS_MS);
  }

  #readAfter([delayMs, ...rest]: readonly number[]): void {
    if (delayMs === undefined) return;
    this.#cancelStructure = this.#options.clock.after(delayMs, () => {
      this.#awaitsFirstRead = false;
      this.#options.onStructure();
      this.#readAfter(rest);
    });
  }

  #policy(): ReachabilityPolicy {
    const { node, attention } = this.#options;
    if (node.isSleepy) return sleepyPolicy(this.#reportIntervalMs());
    const isStrict = node.isReliedOn || attention.isAttended(...node.known.map(({ device }) => device.id));
    return isStrict || this.#monitor.state === 'unknown' ? AWAKE_POLICY : IDLE_POLICY;
  }

  #onAttention(devices: AttendedDevices): void {
    if (devices === 'all' || this.node.known.some(({ device }) => device.id === devices)) this.#monitor.noteStricterPolicy();
  }

  #runningSubscription(): SustainedSubscription | undefined {
    const running = this.node.node.behaviors.internalsOf(NetworkClient).activeSubscription;
    return running instanceof SustainedSubscription && running.active.value ? running : undefined;
  }

  /** Returns the maximum report interval in milliseconds that the last subscription negotiated. */
  #reportIntervalMs(): number {
    const seconds = this.#runningSubscription()?.maxInterval;
    if (seconds !== undefined) this.#intervalMs = seconds * 1_000;
    return this.#intervalMs;
  }

  #confirm(): void {
    this.node.confirmedMs = this.#options.clock.now();
    this.#monitor.noteMessage();
  }

  #onSubscription(isActive: boolean): void {
    if (!isActive) {
      this.#monitor.suspect();
      return;
    }
    this.#confirm();
    this.#options.onFresh();
    // Structure changes that came before the listeners existed are not reported again. So the structure is read now.
    this.noteStructure();
  }

  #onSessionEnd(): void {
    if (this.node.link.peer?.hasSession !== true) this.#monitor.suspect();
  }

  // An announcement consists of several DNS-SD records; the address is complete after the last record.
  #onAnnouncement(): void {
    this.#cancelAnnouncement?.();
    this.#cancelAnnouncement = this.#options.clock.after(ANNOUNCEMENT_DELAY_MS, () => {
      const { link } = this.node;
      if (this.#monitor.state === 'unreachable') void link.reconnect().then(() => this.#monitor.suspect());
      else if (link.hasMoved() || link.hasSaidGoodbye()) this.#monitor.suspect();
    });
  }

  #onReachability(reachability: Reachability): void {
    this.#options.logger.info('device.reachability_changed', { node: this.node.nodeId, reachability });
    if (reachability === 'unreachable') this.node.remember();
    this.#options.onReachability(reachability);
  }

  #listen<Arguments extends unknown[]>(source: Watchable<Arguments>, listener: (...values: Arguments) => void): void {
    source.on(listener);
    this.#stops.push(() => source.off(listener));
  }
}
