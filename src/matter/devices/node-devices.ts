import type { Endpoint } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import type { RecognisedDevice, ReplacedDevice } from '../../core/devices/device-administration.ts';
import type { DeviceChange } from '../../core/devices/device-directory.ts';
import type { Device, DeviceDescription, Reachability } from '../../core/devices/device-model.ts';
import { OPENING_TYPES } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import { present } from '../../core/json.ts';
import { describeCluster } from '../model/data-model.ts';
import { type EndpointSnapshot, labelsOf, type NodeSnapshot, type PlannedDevice, planDevices } from './device-composition.ts';
import { type DeviceStore, recognisedDevice } from './device-store.ts';
import { PeerLink } from './peer-link.ts';
import { clustersOf, sleepFacts, sleeps, snapshotOf, stateOf } from './peer-structure.ts';

/** Device types whose loss is known within 15 s at any time, whether somebody looks or not: nobody may rely on one that is not there. */
const RELIED_ON_TYPES: ReadonlySet<string> = new Set([...OPENING_TYPES, 'SmokeCoAlarm', 'WaterLeakDetector', 'WaterFreezeDetector']);
/** The matter.js behavior of the cluster by which a device of any type measures carbon monoxide. */
const CARBON_MONOXIDE = 'carbonMonoxideConcentrationMeasurement';

/** A device with its plan, and a text by which changes of the device are detected. */
export interface KnownDevice {
  readonly device: Device;
  readonly planned: PlannedDevice;
  /** Text that changes if the device, its endpoints or the structure of its clusters change. It ignores reachability and last contact. */
  readonly signature: string;
}

interface NodeDevicesOptions {
  readonly node: ClientNode;
  readonly nodeId: string;
  readonly store: DeviceStore;
  readonly joinedMs: number;
}

/** Derives the devices of one Matter node from its cached structure and the hub's device store. */
export class NodeDevices {
  readonly node: ClientNode;
  readonly nodeId: string;
  readonly link: PeerLink;
  readonly #store: DeviceStore;
  #snapshot: NodeSnapshot;
  #known: readonly KnownDevice[] = [];
  #reachability: Reachability = 'unknown';
  #idleIntervalMs: number | undefined;
  /** When the running subscription last confirmed all values, ms since 1970. */
  confirmedMs = 0;
  /** When the node joined and was read for the first time, ms since 1970; 0 if it joined in an earlier process. */
  readonly joinedMs: number;
  /** When the node last answered a call, in ms since 1970. matter.js has this time only until the session ends. */
  answeredMs = 0;
  isSleepy: boolean;
  /** True if one of the devices is a lock, a valve, a gate, an alarm or the like. */
  isReliedOn = false;

  constructor({ node, nodeId, store, joinedMs }: NodeDevicesOptions) {
    this.joinedMs = joinedMs;
    this.node = node;
    this.nodeId = nodeId;
    this.link = new PeerLink(node);
    this.#store = store;
    this.#snapshot = snapshotOf(node, nodeId);
    this.isSleepy = this.#sleeps();
  }

  get known(): readonly KnownDevice[] {
    return this.#known;
  }

  /** Reads the structure again. Returns the devices as they were before. */
  refresh(): readonly KnownDevice[] {
    const before = this.#known;
    this.#snapshot = snapshotOf(this.node, this.nodeId);
    this.isSleepy = this.#sleeps();
    const plans = planDevices(this.#snapshot);
    this.#known = plans.map((planned) => this.#knownDevice(planned, plans));
    this.isReliedOn =
      this.#known.some(({ device }) => device.deviceTypes.some((type) => RELIED_ON_TYPES.has(type))) ||
      this.#snapshot.endpoints.some(({ clusters }) => clusters.includes(CARBON_MONOXIDE));
    if (before.length === 0) this.confirmedMs = Math.max(this.confirmedMs, ...this.#known.map(({ device }) => device.lastSeenMs));
    return before;
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  /** Sets whether the node is reachable. Returns the devices as they were before. */
  setReachability(reachability: Reachability): readonly KnownDevice[] {
    this.#reachability = reachability;
    return this.refresh();
  }

  // Returns whether the node sleeps. Without a session, the idle interval of the last session is used.
  #sleeps(): boolean {
    this.#idleIntervalMs = this.link.idleIntervalMs ?? this.#idleIntervalMs;
    return sleeps(sleepFacts(this.node, this.#idleIntervalMs));
  }

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

  /** Returns the device with an up-to-date `lastSeenMs`. */
  deviceNow({ device }: KnownDevice): Device {
    const lastSeenMs = this.#lastSeenMs(device.lastSeenMs);
    return lastSeenMs > device.lastSeenMs ? { ...device, lastSeenMs } : device;
  }

  /** Returns the devices that seem to have been commissioned and removed before. */
  recognised(): readonly RecognisedDevice[] {
    return this.#known.flatMap(({ device, planned }) => {
      const former = this.#store.recognise(planned, this.#plans);
      return former ? [recognisedDevice(device.id, former)] : [];
    });
  }

  /** Gives a recognised device its former id and returns the id; undefined if no removed device matches. Call `refresh` afterwards. */
  restoreId({ planned }: KnownDevice): DeviceId | undefined {
    const former = this.#store.recognise(planned, this.#plans);
    if (former) this.#store.restore(planned.key, former);
    return former?.id;
  }

  /** Gives a device the id, name and area of the device that it replaces. Call `refresh` afterwards. */
  takeOver({ planned }: KnownDevice, replaced: ReplacedDevice): void {
    this.#store.takeOver(planned.key, replaced);
  }

  /** Removes the node; the store retains the data by which its devices can be recognised. */
  forget(removedAtMs: number): void {
    this.#store.forgetNode(this.nodeId, this.#plans, removedAtMs);
  }

  get #plans(): readonly PlannedDevice[] {
    return this.#known.map(({ planned }) => planned);
  }

  /** Stores when each device was last seen. */
  remember(): void {
    for (const known of this.#known) this.#store.saw(known.planned.key, this.deviceNow(known).lastSeenMs);
  }

  #lastSeenMs(storedMs: number): number {
    return Math.max(storedMs, this.link.lastReceivedMs(), this.answeredMs, this.confirmedMs);
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

  #knownDevice(planned: PlannedDevice, plans: readonly PlannedDevice[]): KnownDevice {
    const entry = this.#store.entryOf(planned);
    const parent = plans.find(({ key }) => key === planned.parentKey);
    const area = entry.area ?? (parent && this.#store.entryOf(parent).area);
    const { facts } = planned;
    const device: Device = {
      id: entry.id,
      name: this.#store.nameOf(planned),
      ...(this.#store.isNamedHere(planned) && { isNamedHere: true }),
      ...present({ area }),
      kind: planned.kind,
      nodeId: this.nodeId,
      ...(parent && { parent: this.#store.entryOf(parent).id }),
      vendor: facts.vendor,
      product: facts.product,
      ...(facts.serial !== '' && { serial: facts.serial }),
      ...(facts.softwareVersion !== '' && { softwareVersion: facts.softwareVersion }),
      deviceTypes: planned.deviceTypes,
      reachability: this.#reachabilityOf(planned, parent),
      lastSeenMs: this.#lastSeenMs(entry.lastSeenMs),
      isSleepy: this.isSleepy,
    };
    return { device, planned, signature: this.#signatureOf(device, planned) };
  }

  // A bridge that answers may report that it cannot reach a bridged device (Core §9.13.4.7).
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

/** Returns the changes of a node's devices; removed devices come first. */
export function deviceChanges(before: readonly KnownDevice[], now: readonly KnownDevice[]): readonly DeviceChange[] {
  const missing = before.filter(({ device }) => now.every((known) => known.device.id !== device.id));
  const removed = missing.map(({ device }): DeviceChange => ({ kind: 'removed', device }));
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
