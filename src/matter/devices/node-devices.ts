import type { Endpoint } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import type { RecognisedDevice } from '../../core/devices/device-administration.ts';
import type { DeviceChange } from '../../core/devices/device-directory.ts';
import type { Device, DeviceDescription, Reachability } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import { describeCluster } from '../model/cluster-shape.ts';
import { type EndpointSnapshot, labelsOf, type NodeSnapshot, type PlannedDevice, planDevices } from './device-composition.ts';
import { type DeviceStore, offerOf } from './device-store.ts';
import { PeerLink } from './peer-link.ts';
import { clustersOf, sleepFacts, sleeps, snapshotOf, stateOf } from './peer-structure.ts';

/** A device with the plan behind it and the structure that would make it a changed device. */
export interface KnownDevice {
  readonly device: Device;
  readonly planned: PlannedDevice;
  /** Equal exactly when name, area, endpoints, types and clusters are. */
  readonly signature: string;
}

interface NodeDevicesOptions {
  readonly node: ClientNode;
  readonly nodeId: string;
  readonly book: DeviceStore;
  readonly joinedMs: number;
}

/** The devices of one Matter node, as its cached structure and the hub's own book say. */
export class NodeDevices {
  readonly node: ClientNode;
  readonly nodeId: string;
  readonly link: PeerLink;
  readonly #book: DeviceStore;
  #snapshot: NodeSnapshot;
  #known: readonly KnownDevice[] = [];
  #reachability: Reachability = 'unknown';
  #idleIntervalMs: number | undefined;
  /** When the running subscription last confirmed all values, ms since 1970. */
  confirmedMs = 0;
  /** When it joined and was read for the first time, ms since 1970; 0 where that was in an earlier process. */
  readonly joinedMs: number;
  /** When the node last answered a call, ms since 1970; a session that ends takes its own time of the last message along. */
  heardMs = 0;
  isSleepy: boolean;

  constructor({ node, nodeId, book, joinedMs }: NodeDevicesOptions) {
    this.joinedMs = joinedMs;
    this.node = node;
    this.nodeId = nodeId;
    this.link = new PeerLink(node);
    this.#book = book;
    this.#snapshot = snapshotOf(node, nodeId);
    this.isSleepy = this.#sleeps();
  }

  get known(): readonly KnownDevice[] {
    return this.#known;
  }

  /** Reads the structure again; answers the devices that there were before. */
  refresh(): readonly KnownDevice[] {
    const before = this.#known;
    this.#snapshot = snapshotOf(this.node, this.nodeId);
    this.isSleepy = this.#sleeps();
    const plans = planDevices(this.#snapshot);
    this.#known = plans.map((planned) => this.#know(planned, plans));
    if (before.length === 0) this.confirmedMs = Math.max(this.confirmedMs, ...this.#known.map(({ device }) => device.lastSeenMs));
    return before;
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  /** Takes over what the monitor found; answers the devices before. */
  setReachability(reachability: Reachability): readonly KnownDevice[] {
    this.#reachability = reachability;
    return this.refresh();
  }

  // Without a session nothing is negotiated; the last one's interval still holds.
  #sleeps(): boolean {
    this.#idleIntervalMs = this.link.idleIntervalMs ?? this.#idleIntervalMs;
    return sleeps(sleepFacts(this.node, this.#idleIntervalMs));
  }

  find(id: DeviceId): KnownDevice | undefined {
    return this.#known.find(({ device }) => device.id === id);
  }

  /** The device that an endpoint belongs to. */
  holding(endpoint: number): KnownDevice | undefined {
    return this.#known.find(({ planned }) => planned.endpoints.includes(endpoint));
  }

  endpoint(number: number): Endpoint | undefined {
    return this.node.endpoints.has(number) ? this.node.endpoints.for(number) : undefined;
  }

  describe({ device, planned }: KnownDevice): DeviceDescription {
    const endpoints = planned.endpoints.flatMap(
      (number) => this.#snapshot.endpoints.find((candidate) => candidate.number === number) ?? [],
    );
    return { device, endpoints: endpoints.map((snapshot) => this.#describeEndpoint(snapshot)) };
  }

  /** The device with its present age. */
  deviceNow({ device }: KnownDevice): Device {
    const lastHeardMs = Math.max(this.link.lastHeardMs(), this.heardMs, this.confirmedMs);
    return lastHeardMs > device.lastSeenMs ? { ...device, lastSeenMs: lastHeardMs } : device;
  }

  /** Devices that seem to be ones that were removed. */
  recognised(): readonly RecognisedDevice[] {
    return this.#known.flatMap(({ device, planned }) => {
      const former = this.#book.recognise(planned, this.#plans);
      return former ? [offerOf(device.id, former)] : [];
    });
  }

  /** Gives a device that was recognised its former id, which it answers; `refresh` then tells. Undefined for any other device. */
  restoreId({ planned }: KnownDevice): DeviceId | undefined {
    const former = this.#book.recognise(planned, this.#plans);
    if (former) this.#book.restore(planned.key, former);
    return former?.id;
  }

  /** Forgets the node, and keeps by what its devices can be known again. */
  forget(removedAtMs: number): void {
    this.#book.forgetNode(this.nodeId, this.#plans, removedAtMs);
  }

  get #plans(): readonly PlannedDevice[] {
    return this.#known.map(({ planned }) => planned);
  }

  /** Writes down when each device was seen last. */
  remember(): void {
    for (const known of this.#known) this.#book.saw(known.planned.key, this.deviceNow(known).lastSeenMs);
  }

  #describeEndpoint(snapshot: EndpointSnapshot): DeviceDescription['endpoints'][number] {
    const endpoint = this.endpoint(snapshot.number);
    const clusters = endpoint === undefined ? [] : [...clustersOf(endpoint).values()];
    return {
      endpoint: snapshot.number,
      deviceTypes: snapshot.deviceTypes,
      tags: snapshot.tags,
      labels: labelsOf(snapshot),
      clusters: clusters.map(({ shape, state }) => describeCluster(shape, state)),
    };
  }

  #know(planned: PlannedDevice, plans: readonly PlannedDevice[]): KnownDevice {
    const entry = this.#book.entryOf(planned);
    const parent = plans.find(({ key }) => key === planned.parentKey);
    const area = entry.area ?? (parent && this.#book.entryOf(parent).area);
    const { facts } = planned;
    const device: Device = {
      id: entry.id,
      name: this.#book.nameOf(planned),
      ...(this.#book.isNamedHere(planned) && { isNamedHere: true }),
      ...(area !== undefined && { area }),
      kind: planned.kind,
      nodeId: this.nodeId,
      ...(parent && { parent: this.#book.entryOf(parent).id }),
      vendor: facts.vendor,
      product: facts.product,
      ...(facts.serial !== '' && { serial: facts.serial }),
      ...(facts.softwareVersion !== '' && { softwareVersion: facts.softwareVersion }),
      deviceTypes: planned.deviceTypes,
      reachability: this.#reachabilityOf(planned, parent),
      lastSeenMs: Math.max(entry.lastSeenMs, this.link.lastHeardMs(), this.heardMs, this.confirmedMs),
      isSleepy: this.isSleepy,
    };
    return { device, planned, signature: this.#signatureOf(device, planned) };
  }

  // A bridge that answers may still say that it cannot reach what is behind it (Core §9.13.4.7).
  #reachabilityOf(planned: PlannedDevice, parent: PlannedDevice | undefined): Reachability {
    if (this.#reachability !== 'reachable') return this.#reachability;
    const bridged = [planned, parent].find((candidate) => candidate?.kind === 'bridged');
    const endpoint = bridged?.endpoints[0] === undefined ? undefined : this.endpoint(bridged.endpoints[0]);
    if (endpoint === undefined) return 'reachable';
    return stateOf(endpoint, 'bridgedDeviceBasicInformation').reachable === false ? 'unreachable' : 'reachable';
  }

  #signatureOf({ reachability: _, lastSeenMs: __, ...device }: Device, planned: PlannedDevice): string {
    const endpoints = planned.endpoints.map((number) => this.#snapshot.endpoints.find((endpoint) => endpoint.number === number));
    const elements = planned.endpoints.map((number) => this.#elementsOf(number));
    return JSON.stringify([device, endpoints, elements]);
  }

  #elementsOf(number: number): readonly unknown[] {
    const endpoint = this.endpoint(number);
    if (endpoint === undefined) return [];
    return Object.keys(endpoint.behaviors.supported).map((behavior) => {
      const { attributeList, acceptedCommandList, featureMap } = stateOf(endpoint, behavior);
      return [behavior, attributeList, acceptedCommandList, featureMap];
    });
  }
}

/** How the devices of one node differ from before; those that are gone come first. */
export function deviceChanges(before: readonly KnownDevice[], now: readonly KnownDevice[]): readonly DeviceChange[] {
  const gone = before.filter(({ device }) => now.every((known) => known.device.id !== device.id));
  const removed = gone.map(({ device }): DeviceChange => ({ kind: 'removed', device }));
  return [...removed, ...now.flatMap((known) => changesOf(known, before))];
}

function changesOf({ device, signature }: KnownDevice, before: readonly KnownDevice[]): readonly DeviceChange[] {
  const old = before.find((known) => known.device.id === device.id);
  if (old === undefined) return [{ kind: 'added', device }];
  return [
    ...(old.signature === signature ? [] : [{ kind: 'changed', device, before: old.device } as const]),
    ...(old.device.reachability === device.reachability ? [] : [{ kind: 'reachability', device } as const]),
  ];
}
