import type { HubContext } from '../../core/context.ts';
import '../matter-platform.ts';
import type { Endpoint } from '@matter/main';
import { ChangeNotificationService, type ClientNode, InteractionServer } from '@matter/main/node';
import { PeerSet } from '@matter/main/protocol';
import type { RecognisedDevice, ReplacedDevice } from '../../core/devices/device-administration.ts';
import type { DeviceAttention } from '../../core/devices/device-attention.ts';
import type {
  DeviceAccess,
  DeviceCallOptions,
  DeviceChange,
  DeviceDirectory,
  ExpectedValue,
  ReadBack,
} from '../../core/devices/device-directory.ts';
import type {
  AttributePath,
  AttributeReading,
  CommandPath,
  Device,
  DeviceDescription,
  DeviceEvent,
} from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { MatterNode } from '../matter-node.ts';
import { MatterDeviceAccess } from './device-access.ts';
import { DeviceInteractions } from './device-interactions.ts';
import { DeviceReports, deviceEvent, ListenerSet, ReportTimes, UnreportedAttributePoll } from './device-reports.ts';
import { DeviceStore, type JoiningNodeDetails } from './device-store.ts';
import { deviceChanges, type KnownDevice, NodeDevices } from './node-devices.ts';
import { NodeWatch } from './node-watch.ts';
import { shortenReconnectDelays } from './peer-link.ts';
import { CommandReports } from './read-back.ts';

interface MatterDevicesCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'store'> {
  readonly matterNode: MatterNode;
  readonly attention: DeviceAttention;
  /** Returns the details of a node that is being commissioned; none by default. */
  readonly joiningDetailsOf?: (nodeId: string) => JoiningNodeDetails | undefined;
}

interface FoundDevice {
  readonly node: NodeDevices;
  readonly known: KnownDevice;
}

/** Lists the devices on this hub's fabric and gives access to them. Must be started after its MatterNode. */
export class MatterDevices implements DeviceDirectory, DeviceAccess, Service {
  readonly #parts: MatterDevicesCollaborators;
  readonly #store: DeviceStore;
  readonly #reports: DeviceReports;
  readonly #commandReports: CommandReports;
  readonly #calls: MatterDeviceAccess;
  readonly #watches = new Map<ClientNode, NodeWatch>();
  /** Cache of devices by id, because each call looks up its device several times. The first lookup after a change fills the cache. */
  #index: ReadonlyMap<DeviceId, FoundDevice> | undefined;
  readonly #polls = new Map<NodeWatch, UnreportedAttributePoll>();
  readonly #end = new AbortController();
  readonly #changes = new ListenerSet<DeviceChange>();
  readonly #events = new ListenerSet<DeviceEvent>();
  readonly #stops: (() => void)[] = [];
  /** Device access for administration: paths may name any endpoint of the device's node. */
  readonly wholeNodes: MatterDeviceAccess;

  constructor(parts: MatterDevicesCollaborators) {
    this.#parts = parts;
    this.#store = new DeviceStore(parts.store, parts.joiningDetailsOf, parts.logger);
    const { clock } = parts;
    const times = new ReportTimes(clock);
    const interactions = new DeviceInteractions(clock);
    const reports = new CommandReports(clock);
    const find = (id: DeviceId) => this.#find(id);
    const onOutcome = (node: NodeDevices, isAlive: boolean) => this.#watches.get(node.node)?.noteOutcome(isAlive);
    this.#calls = new MatterDeviceAccess({ interactions, times, reports, clock, find, onOutcome, scope: 'device' });
    this.wholeNodes = new MatterDeviceAccess({ interactions, times, reports, clock, find, onOutcome, scope: 'node' });
    this.#commandReports = reports;
    this.#reports = new DeviceReports({ times, cached: (path) => this.#calls.cached(path) });
  }

  async start(): Promise<void> {
    const { matterNode } = this.#parts;
    shortenReconnectDelays(matterNode.node.env.get(PeerSet));
    for (const peer of matterNode.commissionedPeers()) this.#add(peer, { joinedMs: 0 });
    const notifications = matterNode.node.env.get(ChangeNotificationService).change;
    const listener = (change: ChangeNotificationService.Change): void => this.#onNotification(change);
    notifications.on(listener);
    this.#stops.push(
      () => notifications.off(listener),
      this.#commandReports.listen(matterNode.node.env.get(InteractionServer)),
      matterNode.onPeerAdded((peer) => this.#add(peer, { joinedMs: this.#parts.clock.now() })),
      matterNode.onPeerRemoved((peer) => this.#remove(peer)),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#end.abort();
    for (const watch of this.#watches.values()) {
      this.#unwatch(watch);
      watch.node.remember();
    }
    this.#watches.clear();
    // From now on, a timer that fires during the shutdown finds no device. Otherwise it would read from a closed peer, which throws.
    this.#index = undefined;
  }

  list(): readonly Device[] {
    return this.#all().map(({ node, known }) => node.deviceNow(known));
  }

  get(id: DeviceId): Device | undefined {
    const found = this.#lookUp(id);
    return found?.node.deviceNow(found.known);
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    const found = this.#lookUp(id);
    return found?.node.describe(found.known);
  }

  /** Returns all devices of a node; the device for the node itself comes first. */
  devicesOfNode(nodeId: string): readonly Device[] {
    return this.list().filter((device) => device.nodeId === nodeId);
  }

  /** Adds a node that has just joined, with the name and area that a person gave it. Returns its devices. */
  async record(nodeId: string, { name, area, findings }: JoiningNodeDetails): Promise<readonly Device[]> {
    const peer = this.#parts.matterNode.commissionedPeers().find((known) => known.peerAddress?.nodeId.toString() === nodeId);
    if (peer === undefined) throw new AtmoError('DEVICE_NOT_FOUND', `No node ${nodeId} is on the fabric`);
    this.#add(peer, { joinedMs: this.#parts.clock.now() });
    const node = this.#watches.get(peer)?.node;
    const key = node?.known[0]?.planned.key;
    if (node !== undefined && key !== undefined) {
      if (name !== undefined) this.#store.rename(key, name);
      if (area !== undefined) this.#store.setArea(key, area);
      if (findings !== undefined) this.#store.attest(key, findings);
      this.#refresh(node);
    }
    return this.devicesOfNode(nodeId);
  }

  /** Returns the commissioned matter.js peer of a device, for administration. */
  peerOf(id: DeviceId): ClientNode {
    return this.#find(id).node.node;
  }

  onChange(listener: (change: DeviceChange) => void): () => void {
    return this.#changes.add(listener);
  }

  onReport(listener: (reading: AttributeReading) => void): () => void {
    return this.#reports.listeners.add(listener);
  }

  onEvent(listener: (event: DeviceEvent) => void): () => void {
    return this.#events.add(listener);
  }

  cached(path: AttributePath): AttributeReading | undefined {
    return this.#calls.cached(path);
  }

  noteRead(devices: readonly DeviceId[]): void {
    for (const device of devices) this.#parts.attention.noteRead(device);
  }

  isCurrent(id: DeviceId): boolean {
    const found = this.#lookUp(id);
    return found !== undefined && this.#watches.get(found.node.node)?.isSubscribed === true;
  }

  read(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    for (const { device } of paths) this.#parts.attention.noteCall(device);
    return this.#calls.read(paths, options);
  }

  awaitReports(values: readonly ExpectedValue[]): ReadBack {
    return this.#calls.awaitReports(values);
  }

  write(path: AttributePath, value: Json, options: DeviceCallOptions): Promise<void> {
    this.#parts.attention.noteCall(path.device);
    return this.#calls.write(path, value, options);
  }

  invoke(path: CommandPath, fields: JsonObject, options: DeviceCallOptions): Promise<JsonObject | null> {
    this.#parts.attention.noteCall(path.device);
    return this.#calls.invoke(path, fields, options);
  }

  /** Sets the name of a device on this hub; an empty name restores the device's own name. */
  rename(id: DeviceId, name: string): Device {
    const { node, known } = this.#find(id);
    this.#store.rename(known.planned.key, name);
    this.#refresh(node);
    return this.#find(id).known.device;
  }

  setArea(id: DeviceId, area: string | null): Device {
    const { node, known } = this.#find(id);
    this.#store.setArea(known.planned.key, area);
    this.#refresh(node);
    return this.#find(id).known.device;
  }

  /** Returns the devices that seem to have been commissioned and removed before. */
  recognised(): readonly RecognisedDevice[] {
    return [...this.#watches.values()].flatMap(({ node }) => node.recognised());
  }

  /** Gives a recognised device its former id. Throws NOT_FOUND if the device resembles no removed device. */
  restore(id: DeviceId): Device {
    const { node, known } = this.#find(id);
    const former = node.restoreId(known);
    if (former === undefined) throw new AtmoError('NOT_FOUND', `${id} resembles no removed device`, { device: id });
    this.#refresh(node);
    return this.#find(former).known.device;
  }

  /** Gives a device the id, name and area of a device that is no longer here. Throws CONFLICT if that one still is. */
  takeOver(id: DeviceId, replaced: ReplacedDevice): Device {
    const { node, known } = this.#find(id);
    if (replaced.id !== id && this.#lookUp(replaced.id)) {
      throw new AtmoError('CONFLICT', `${replaced.id} is still in the home; it has to leave before ${id} gets its id`);
    }
    node.takeOver(known, replaced);
    this.#refresh(node);
    return this.#find(replaced.id).known.device;
  }

  #add(peer: ClientNode, { joinedMs }: { readonly joinedMs: number }): void {
    const address = peer.state.commissioning.peerAddress;
    if (address === undefined || this.#watches.has(peer)) return;
    const node = new NodeDevices({ node: peer, nodeId: address.nodeId.toString(), store: this.#store, joinedMs });
    const watch = new NodeWatch({
      node,
      clock: this.#parts.clock,
      logger: this.#parts.logger,
      attention: this.#parts.attention,
      onReachability: (reachability) => this.#emitChanges(node, node.setReachability(reachability)),
      onStructure: () => this.#refresh(node),
      onFresh: () => this.#reports.emitAll(node),
    });
    const poll = new UnreportedAttributePoll({
      node,
      clock: this.#parts.clock,
      random: Math.random,
      read: (paths) => this.#calls.read(paths, { signal: this.#end.signal }),
    });
    this.#watches.set(peer, watch);
    this.#polls.set(watch, poll);
    this.#refresh(node);
    watch.start();
    poll.start();
  }

  #remove(peer: ClientNode): void {
    const watch = this.#watches.get(peer);
    if (watch === undefined) return;
    this.#unwatch(watch);
    this.#watches.delete(peer);
    this.#index = undefined;
    for (const { device } of watch.node.known) this.#changes.emit({ kind: 'removed', device });
    watch.node.forget(this.#parts.clock.now());
  }

  #unwatch(watch: NodeWatch): void {
    watch.stop();
    this.#commandReports.end(watch.node.link);
    this.#polls.get(watch)?.stop();
    this.#polls.delete(watch);
  }

  #refresh(node: NodeDevices): void {
    this.#emitChanges(node, node.refresh());
  }

  #emitChanges(node: NodeDevices, before: readonly KnownDevice[]): void {
    this.#index = undefined;
    for (const change of deviceChanges(before, node.known)) this.#changes.emit(change);
  }

  #onNotification(change: ChangeNotificationService.Change): void {
    const watch = this.#watchOf(change.endpoint);
    if (watch === undefined) return;
    switch (change.kind) {
      case 'delete':
        watch.noteStructure();
        break;
      case 'update':
        watch.noteUpdate(change.behavior.id, change.properties);
        this.#commandReports.noteStored(watch.node.link, {
          endpoint: change.endpoint.number,
          behavior: change.behavior.id,
          properties: change.properties,
        });
        this.#reports.emit(watch.node, change);
        break;
      case 'event':
        this.#emitEvent(watch.node, change);
    }
  }

  #emitEvent(node: NodeDevices, occurrence: ChangeNotificationService.EventOccurrence): void {
    const event = deviceEvent(node, occurrence, this.#parts.clock.now());
    if (event !== undefined) this.#events.emit(event);
  }

  #watchOf(endpoint: Endpoint): NodeWatch | undefined {
    for (let owner: Endpoint | undefined = endpoint; owner !== undefined; owner = owner.owner) {
      const watch = this.#watches.get(owner as ClientNode);
      if (watch !== undefined) return watch;
    }
    return undefined;
  }

  #find(id: DeviceId): FoundDevice {
    const found = this.#lookUp(id);
    if (found === undefined) throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id}`, { device: id });
    return found;
  }

  #lookUp(id: DeviceId): FoundDevice | undefined {
    this.#index ??= new Map(this.#all().map((entry) => [entry.known.device.id, entry]));
    return this.#index.get(id);
  }

  #all(): readonly FoundDevice[] {
    return [...this.#watches.values()].flatMap(({ node }) => node.known.map((known) => ({ node, known })));
  }
}
