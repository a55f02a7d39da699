import '../matter-platform.ts';
import type { ChangeNotificationService } from '@matter/main/node';
import type { Clock } from '../../core/clock.ts';
import type { AttributePath, AttributeReading, DeviceEvent } from '../../core/devices/device-model.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { AttributeShape } from '../model/cluster-shape.ts';
import { toJson } from '../model/value-json.ts';
import type { NodeDevices } from './node-devices.ts';
import { clusterOf, clustersOf } from './peer-structure.ts';

interface DeviceReportsCollaborators {
  readonly times: ReportTimes;
  /** The value that a device reported last, undefined where it has none. */
  readonly cached: (path: AttributePath) => AttributeReading | undefined;
}

/** Tells readings of devices as the devices report them, and notes when each was reported. */
export class DeviceReports {
  readonly #with: DeviceReportsCollaborators;
  readonly #listeners = new ListenerSet<AttributeReading>();

  constructor(collaborators: DeviceReportsCollaborators) {
    this.#with = collaborators;
  }

  /** Calls the listener with each reading until the function that it answers is called. */
  onReport(listener: (reading: AttributeReading) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** The attributes that one report of a node brought; all of the cluster where it does not say which. */
  emit(node: NodeDevices, { endpoint, behavior, properties }: ChangeNotificationService.PropertyUpdate): void {
    const cluster = clusterOf(endpoint, behavior.id);
    if (cluster === undefined) return;
    for (const attribute of cluster.shape.attributes.values()) {
      if (properties !== undefined && !properties.includes(attribute.property)) continue;
      const place = { endpoint: endpoint.number, cluster: cluster.shape.name, attribute: attribute.name };
      this.#with.times.note(node, place);
      this.#tellReading(node, place);
    }
  }

  /** All that a node has, after its subscription began anew. */
  emitAll(node: NodeDevices): void {
    if (this.#listeners.isEmpty) return;
    for (const endpoint of node.node.endpoints) {
      for (const behavior of Object.keys(endpoint.behaviors.supported)) {
        const shape = clusterOf(endpoint, behavior)?.shape;
        for (const attribute of shape?.attributes.keys() ?? []) {
          this.#tellReading(node, { endpoint: endpoint.number, cluster: shape?.name ?? '', attribute });
        }
      }
    }
  }

  #tellReading(node: NodeDevices, place: Omit<AttributePath, 'device'>): void {
    const known = this.#listeners.isEmpty ? undefined : node.holding(place.endpoint);
    const reading = known && this.#with.cached({ device: known.device.id, ...place });
    if (reading !== undefined) this.#listeners.emit(reading);
  }
}

/** When each value was last told: by a report of its own, or by a subscription that would have reported a change. */
export class ReportTimes {
  readonly #clock: Clock;
  readonly #times = new WeakMap<NodeDevices, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The device told this value now; answers the time. */
  note(node: NodeDevices, path: Omit<AttributePath, 'device'>): number {
    const times = this.#times.get(node) ?? new Map<string, number>();
    const nowMs = this.#clock.now();
    this.#times.set(node, times.set(keyOf(path), nowMs));
    return nowMs;
  }

  /**
   * Ms since 1970; 0 when that is not known. Values whose changes are not reported age from their own report on, or from the time at
   * which a node that joined was read.
   */
  of(node: NodeDevices, path: Omit<AttributePath, 'device'>, attribute: AttributeShape): number {
    const ownMs = this.#times.get(node)?.get(keyOf(path)) ?? 0;
    return Math.max(ownMs, attribute.facts.changesOmitted ? node.joinedMs : node.confirmedMs);
  }
}

function keyOf({ endpoint, cluster, attribute }: Omit<AttributePath, 'device'>): string {
  return `${endpoint}/${cluster}/${attribute}`;
}

// Devices without a clock count from their own start; nothing happened before this year.
const FIRST_PLAUSIBLE_MS = Date.UTC(2020, 0, 1);

/** An event record of a node as callers see it; undefined for events of clusters or endpoints that are not known. */
export function deviceEvent(node: NodeDevices, change: ChangeNotificationService.EventOccurrence, nowMs: number): DeviceEvent | undefined {
  const known = node.holding(change.endpoint.number);
  const cluster = clusterOf(change.endpoint, change.behavior.id);
  const event = cluster && [...cluster.shape.events.values()].find(({ id }) => id === change.event.id);
  if (known === undefined || cluster === undefined || event === undefined) return undefined;
  return {
    device: known.device.id,
    endpoint: change.endpoint.number,
    cluster: cluster.shape.name,
    event: event.name,
    data: payload(toJson(event.shape, change.payload)),
    atMs: plausible(Number(change.timestamp), nowMs),
  };
}

function payload(json: ReturnType<typeof toJson>): JsonObject {
  return isJsonObject(json) ? json : {};
}

function plausible(atMs: number, nowMs: number): number {
  return atMs >= FIRST_PLAUSIBLE_MS && atMs <= nowMs ? atMs : nowMs;
}

interface SlowPollOptions {
  readonly node: NodeDevices;
  readonly clock: Clock;
  readonly random: () => number;
  /** Reads from the device; failures are the caller's business. */
  read(paths: readonly AttributePath[]): Promise<unknown>;
}

const EVERY_MS = 300_000;
const FIRST_WITHIN_MS = 30_000;
/** As many paths as any device has to accept in one request (Core §2.11.2.1). */
const PATHS_PER_READ = 9;

/** Reads now and then what a device does not report by itself: attributes of quality C (Core §7.7.6). */
export class UnreportedAttributePoll {
  readonly #options: SlowPollOptions;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: SlowPollOptions) {
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
      // The next round tries again; whether the node is there is the monitor's question.
    }
    this.#schedule(EVERY_MS * (0.9 + random() / 5));
  }

  async #readAll(paths: readonly AttributePath[]): Promise<void> {
    for (let start = 0; start < paths.length && !this.#isStopped; start += PATHS_PER_READ) {
      await this.#options.read(paths.slice(start, start + PATHS_PER_READ));
    }
  }
}

/** Where a node has attributes whose changes it does not report. */
export function unreportedPaths(node: NodeDevices): readonly AttributePath[] {
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

/** Those who want to hear something, told in order; one that fails never keeps it from the others. */
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
        // A listener's bug is its own.
      }
    }
  }
}
