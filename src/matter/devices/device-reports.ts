import '../matter-platform.ts';
import type { ChangeNotificationService } from '@matter/main/node';
import type { Clock } from '../../core/clock.ts';
import type { AttributePath, AttributeReading, DeviceEvent } from '../../core/devices/device-model.ts';
import { objectOf } from '../../core/json.ts';
import type { AttributeShape } from '../model/data-model.ts';
import { toJson } from '../model/value-json.ts';
import type { NodeDevices } from './node-devices.ts';
import { clusterOf, clustersOf } from './peer-structure.ts';

interface DeviceReportsCollaborators {
  readonly times: ReportTimes;
  /** Returns the last reported value; undefined before the first report. */
  readonly cached: (path: AttributePath) => AttributeReading | undefined;
}

/** Emits attribute readings when devices report them, and stores the times of the reports. */
export class DeviceReports {
  readonly #parts: DeviceReportsCollaborators;
  readonly listeners = new ListenerSet<AttributeReading>();

  constructor(parts: DeviceReportsCollaborators) {
    this.#parts = parts;
  }

  /** Emits the attributes of one report. If the report does not name its attributes, emits all attributes of the cluster. */
  emit(node: NodeDevices, { endpoint, behavior, properties }: ChangeNotificationService.PropertyUpdate): void {
    const cluster = clusterOf(endpoint, behavior.id);
    if (cluster === undefined) return;
    for (const attribute of cluster.shape.attributes.values()) {
      if (properties !== undefined && !properties.includes(attribute.property)) continue;
      const path = { endpoint: endpoint.number, cluster: cluster.shape.name, attribute: attribute.name };
      this.#parts.times.note(node, path);
      this.#emitReading(node, path);
    }
  }

  /** Emits all cached values of a node. Called after a subscription was established. */
  emitAll(node: NodeDevices): void {
    if (this.listeners.isEmpty) return;
    for (const endpoint of node.node.endpoints) {
      for (const { shape } of clustersOf(endpoint).values()) {
        for (const attribute of shape.attributes.keys()) {
          this.#emitReading(node, { endpoint: endpoint.number, cluster: shape.name, attribute });
        }
      }
    }
  }

  #emitReading(node: NodeDevices, path: Omit<AttributePath, 'device'>): void {
    const known = this.listeners.isEmpty ? undefined : node.holding(path.endpoint);
    const reading = known && this.#parts.cached({ device: known.device.id, ...path });
    if (reading !== undefined) this.listeners.emit(reading);
  }
}

/** Tells when each value was last confirmed: by a report of the value, or by a running subscription that reported no change. */
export class ReportTimes {
  readonly #clock: Clock;
  readonly #times = new WeakMap<NodeDevices, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Stores the current time as the report time of an attribute, and returns this time. */
  note(node: NodeDevices, path: Omit<AttributePath, 'device'>): number {
    const times = this.#times.get(node) ?? new Map<string, number>();
    const nowMs = this.#clock.now();
    this.#times.set(node, times.set(keyOf(path), nowMs));
    return nowMs;
  }

  /**
   * Returns the time of a value's last confirmation, in ms since 1970; 0 if unknown. If the device does not report changes of the
   * attribute, a lack of reports confirms nothing. Then only a report or a read counts, also the first read when the node joined.
   */
  of(node: NodeDevices, path: Omit<AttributePath, 'device'>, attribute: AttributeShape): number {
    const ownMs = this.#times.get(node)?.get(keyOf(path)) ?? 0;
    return Math.max(ownMs, attribute.facts.changesOmitted ? node.joinedMs : node.confirmedMs);
  }
}

function keyOf({ endpoint, cluster, attribute }: Omit<AttributePath, 'device'>): string {
  return `${endpoint}/${cluster}/${attribute}`;
}

// If an event has a time before 2020, the hub uses the current time: a device without a clock counts from its own start.
const FIRST_PLAUSIBLE_MS = Date.UTC(2020, 0, 1);

/** Converts an event of a node to a DeviceEvent; returns undefined if its cluster, event or endpoint is unknown. */
export function deviceEvent(node: NodeDevices, change: ChangeNotificationService.EventOccurrence, nowMs: number): DeviceEvent | undefined {
  const known = node.holding(change.endpoint.number);
  const cluster = clusterOf(change.endpoint, change.behavior.id);
  const event = cluster && [...cluster.shape.events.values()].find(({ id }) => id === change.event.id);
  if (known === undefined || cluster === undefined || event === undefined) return undefined;
  const data = toJson(event.shape, change.payload);
  return {
    device: known.device.id,
    endpoint: change.endpoint.number,
    cluster: cluster.shape.name,
    event: event.name,
    data: objectOf(data),
    atMs: plausible(Number(change.timestamp), nowMs),
  };
}

function plausible(atMs: number, nowMs: number): number {
  return atMs >= FIRST_PLAUSIBLE_MS && atMs <= nowMs ? atMs : nowMs;
}

interface PollOptions {
  readonly node: NodeDevices;
  readonly clock: Clock;
  readonly random: () => number;
  read(paths: readonly AttributePath[]): Promise<unknown>;
}

const EVERY_MS = 300_000;
const FIRST_WITHIN_MS = 30_000;
/** Number of paths that every device has to accept in one read request (Core §2.11.2.1). */
const PATHS_PER_READ = 9;

/** Polls attributes with quality C (changes omitted), since a device does not report their changes (Core §7.7.6). */
export class UnreportedAttributePoll {
  readonly #options: PollOptions;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: PollOptions) {
    this.#options = options;
  }

  start(): void {
    this.#schedule(FIRST_WITHIN_MS * this.#options.random());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(delayMs, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    const { node, random } = this.#options;
    try {
      if (node.reachability === 'reachable' && !node.isSleepy) await this.#readAll(unreportedPaths(node));
    } catch {
      // The error is ignored: the next poll reads again, and ReachabilityMonitor detects whether the node is reachable.
    }
    this.#schedule(EVERY_MS * (0.9 + random() / 5));
  }

  async #readAll(paths: readonly AttributePath[]): Promise<void> {
    for (let start = 0; start < paths.length && !this.#isStopped; start += PATHS_PER_READ) {
      await this.#options.read(paths.slice(start, start + PATHS_PER_READ));
    }
  }
}

function unreportedPaths(node: NodeDevices): readonly AttributePath[] {
  return node.known.flatMap(({ device, planned }) =>
    planned.endpoints.flatMap((number) => {
      const endpoint = node.endpoint(number);
      const clusters = endpoint === undefined ? [] : [...clustersOf(endpoint).values()];
      return clusters.flatMap(({ shape }) =>
        [...shape.attributes.values()]
          .filter(({ facts }) => facts.changesOmitted)
          .map(({ name }) => ({ device: device.id, endpoint: number, cluster: shape.name, attribute: name })),
      );
    }),
  );
}

/** A set of listeners, called in order; an error of one listener never stops the others. */
export class ListenerSet<Message> {
  readonly #listeners = new Set<(message: Message) => void>();

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  add(listener: (message: Message) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(message: Message): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(message);
      } catch {
        // The error is ignored, so that the other listeners still get the message.
      }
    }
  }
}
