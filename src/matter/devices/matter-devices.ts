import '../matter-platform.ts';
import type { Endpoint } from '@matter/main';
import { ChangeNotificationService, type ClientNode } from '@matter/main/node';
import { PeerSet } from '@matter/main/protocol';
import type { Clock } from '../../core/clock.ts';
import type { RecognisedDevice } from '../../core/devices/device-administration.ts';
import type { DeviceAccess, DeviceCallOptions, DeviceChange, DeviceDirectory } from '../../core/devices/device-directory.ts';
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
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { MatterNode } from '../matter-node.ts';
import { MatterDeviceAccess } from './device-access.ts';
import { DeviceInteractions } from './device-interactions.ts';
import { DeviceReports, deviceEvent, ListenerSet, ReportTimes, UnreportedAttributePoll } from './device-reports.ts';
import { DeviceStore, type JoiningNodeDetails } from './device-store.ts';
import { deviceChanges, type KnownDevice, NodeDevices } from './node-devices.ts';
import { NodeWatch } from './node-watch.ts';
import { shortenReconnectDelays } from './peer-link.ts';

interface MatterDevicesCollaborators {
  readonly matterNode: MatterNode;
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What was wished for a node that is just joining; nothing by default. */
  readonly joiningDetailsOf?: (nodeId: string) => JoiningNodeDetails | undefined;
}

/** The devices on this hub's fabric and what can be done with them. Start it after its MatterNode. */
export class MatterDevices implements DeviceDirectory, DeviceAccess, Service {
  readonly #with: MatterDevicesCollaborators;
  readonly #book: DeviceStore;
  readonly #reports: DeviceReports;
  readonly #calls: MatterDeviceAccess;
  readonly #watches = new Map<ClientNode, NodeWatch>();
  /** Devices by id, made when first asked after a change: every call looks its device up several times. */
  #index: ReadonlyMap<DeviceId, { readonly node: NodeDevices; readonly known: KnownDevice }> | undefined;
  readonly #polls = new Map<NodeWatch, UnreportedAttributePoll>();
  readonly #end = new AbortController();
  readonly #changes = new ListenerSet<DeviceChange>();
  readonly #events = new ListenerSet<DeviceEvent>();
  readonly #stops: (() => void)[] = [];
  /** The same access for administration: paths may name any endpoint of the device's whole node. */
  readonly wholeNodes: Pick<MatterDeviceAccess, 'cached' | 'read' | 'readOfAllFabrics' | 'write' | 'invoke'>;

  constructor(collaborators: MatterDevicesCollaborators) {
    this.#with = collaborators;
    this.#book = new DeviceStore(collaborators.store, collaborators.joiningDetailsOf, collaborators.logger);
    const times = new ReportTimes(collaborators.clock);
    const shared = {
      interactions: new DeviceInteractions({ clock: collaborators.clock }),
      times,
      find: (id: DeviceId) => this.#find(id),
      onOutcome: (node: NodeDevices, isAlive: boolean) => this.#watches.get(node.node)?.noteOutcome(isAlive),
    };
    this.#calls = new MatterDeviceAccess({
      interactions: shared.interactions,
      times: shared.times,
      find: shared.find,
      onOutcome: shared.onOutcome,
      scope: 'device',
    });
    this.#reports = new DeviceReports({ times, cached: (path) => this.#calls.cached(path) });
    this.wholeNodes = new MatterDeviceAccess({
      interactions: shared.interactions,
      times: shared.times,
      find: shared.find,
      onOutcome: shared.onOutcome,
      scope: 'node',
    });
  }

  async start(): Promise<void> {
    const { matterNode } = this.#with;
    shortenReconnectDelays(matterNode.node.env.get(PeerSet));
    for (const peer of matterNode.commissionedPeers()) this.#add(peer, { joinedMs: 0 });
    const notifications = matterNode.node.env.get(ChangeNotificationService).change;
    const hear = (change: ChangeNotificationService.Change): void => this.#hear(change);
    notifications.on(hear);
    this.#stops.push(
      () => notifications.off(hear),
      matterNode.onPeerAdded((peer) => this.#add(peer, { joinedMs: this.#with.clock.now() })),
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
    // Who asks from a timer while the node closes is told of no device; asking a closed peer throws.
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

  /** All devices of the node that a device belongs to, the one for the node itself first. */
  devicesOfNode(nodeId: string): readonly Device[] {
    return this.list().filter((device) => device.nodeId === nodeId);
  }

  /** Makes a node that has just joined known, under the name and area that its owner wishes; answers its devices. */
  async record(nodeId: string, wish: JoiningNodeDetails): Promise<readonly Device[]> {
    const peer = this.#with.matterNode.commissionedPeers().find((known) => known.peerAddress?.nodeId.toString() === nodeId);
    if (peer === undefined) throw new AtmoError('DEVICE_NOT_FOUND', `No node ${nodeId} is on the fabric`);
    this.#add(peer, { joinedMs: this.#with.clock.now() });
    const node = this.#watches.get(peer)?.node;
    const key = node?.known[0]?.planned.key;
    if (node !== undefined && key !== undefined) {
      if (wish.name !== undefined) this.#book.rename(key, wish.name);
      if (wish.area !== undefined) this.#book.setArea(key, wish.area);
      if (wish.findings !== undefined) this.#book.attest(key, wish.findings);
      this.#refresh(node);
    }
    return this.devicesOfNode(nodeId);
  }

  /** The commissioned peer behind a device, for administration. */
  peerOf(id: DeviceId): ClientNode {
    return this.#find(id).node.node;
  }

  onChange(listener: (change: DeviceChange) => void): () => void {
    return this.#changes.add(listener);
  }

  onReport(listener: (reading: AttributeReading) => void): () => void {
    return this.#reports.onReport(listener);
  }

  onEvent(listener: (event: DeviceEvent) => void): () => void {
    return this.#events.add(listener);
  }

  cached(path: AttributePath): AttributeReading | undefined {
    return this.#calls.cached(path);
  }

  read(paths: readonly AttributePath[], options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    return this.#calls.read(paths, options);
  }

  write(path: AttributePath, value: Json, options: DeviceCallOptions): Promise<void> {
    return this.#calls.write(path, value, options);
  }

  invoke(path: CommandPath, fields: JsonObject, options: DeviceCallOptions): Promise<JsonObject | null> {
    return this.#calls.invoke(path, fields, options);
  }

  /** Gives a device the name that people use here; an empty one goes back to the device's own. */
  rename(id: DeviceId, name: string): Device {
    const { node, known } = this.#find(id);
    this.#book.rename(known.planned.key, name);
    this.#refresh(node);
    return this.#find(id).known.device;
  }

  setArea(id: DeviceId, area: string | null): Device {
    const { node, known } = this.#find(id);
    this.#book.setArea(known.planned.key, area);
    this.#refresh(node);
    return this.#find(id).known.device;
  }

  /** Devices that seem to be ones that were removed. */
  recognised(): readonly RecognisedDevice[] {
    return [...this.#watches.values()].flatMap(({ node }) => node.recognised());
  }

  /** Gives a device that was recognised its former id. NOT_FOUND. */
  restore(id: DeviceId): Device {
    const { node, known } = this.#find(id);
    const former = node.restoreId(known);
    if (former === undefined)
      throw new AtmoError('NOT_FOUND', `${id} is no device that was here before, as far as can be told`, { device: id });
    this.#refresh(node);
    return this.#find(former).known.device;
  }

  #add(peer: ClientNode, { joinedMs }: { readonly joinedMs: number }): void {
    const address = peer.state.commissioning.peerAddress;
    if (address === undefined || this.#watches.has(peer)) return;
    const node = new NodeDevices({ node: peer, nodeId: address.nodeId.toString(), book: this.#book, joinedMs });
    const watch = new NodeWatch({
      node,
      clock: this.#with.clock,
      logger: this.#with.logger,
      onReachability: (reachability) => this.#tell(node, node.setReachability(reachability)),
      onStructure: () => this.#refresh(node),
      onFresh: () => this.#reports.emitAll(node),
    });
    const poll = new UnreportedAttributePoll({
      node,
      clock: this.#with.clock,
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
    watch.node.forget(this.#with.clock.now());
  }

  #unwatch(watch: NodeWatch): void {
    watch.stop();
    this.#polls.get(watch)?.stop();
    this.#polls.delete(watch);
  }

  #refresh(node: NodeDevices): void {
    this.#tell(node, node.refresh());
  }

  /** Tells how the devices of a node differ from before. */
  #tell(node: NodeDevices, before: readonly KnownDevice[]): void {
    this.#index = undefined;
    for (const change of deviceChanges(before, node.known)) this.#changes.emit(change);
  }

  #hear(change: ChangeNotificationService.Change): void {
    const watch = this.#watchOf(change.endpoint);
    if (watch === undefined) return;
    switch (change.kind) {
      case 'delete':
        watch.noteStructure();
        break;
      case 'update':
        watch.noteUpdate(change.behavior.id, change.properties);
        this.#reports.emit(watch.node, change);
        break;
      case 'event':
        this.#tellEvent(watch.node, change);
    }
  }

  #tellEvent(node: NodeDevices, occurrence: ChangeNotificationService.EventOccurrence): void {
    const event = deviceEvent(node, occurrence, this.#with.clock.now());
    if (event !== undefined) this.#events.emit(event);
  }

  #watchOf(endpoint: Endpoint): NodeWatch | undefined {
    for (let owner: Endpoint | undefined = endpoint; owner !== undefined; owner = owner.owner) {
      const watch = this.#watches.get(owner as ClientNode);
      if (watch !== undefined) return watch;
    }
    return undefined;
  }

  #find(id: DeviceId): { node: NodeDevices; known: KnownDevice } {
    const found = this.#lookUp(id);
    if (found === undefined) throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id}`, { device: id });
    return found;
  }

  #lookUp(id: DeviceId): { node: NodeDevices; known: KnownDevice } | undefined {
    this.#index ??= new Map(this.#all().map((entry) => [entry.known.device.id, entry]));
    return this.#index.get(id);
  }

  #all(): readonly { node: NodeDevices; known: KnownDevice }[] {
    return [...this.#watches.values()].flatMap(({ node }) => node.known.map((known) => ({ node, known })));
  }
}
