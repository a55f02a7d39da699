import './matter-platform.ts';
import {
  DatafileRoot,
  type Diagnostic,
  Environment,
  LogFormat,
  Matter,
  Logger as MatterLogger,
  LogLevel as MatterLogLevel,
  Seconds,
  ServerNode,
  StorageService,
} from '@matter/main';
import { type ClusterModel, MatterModel } from '@matter/main/model';
import { ClientCacheBuffer, type ClientNode, ControllerBehavior, type Peers, ServerNodeStore } from '@matter/main/node';
import { Ble, type Fabric, FabricAuthority, type Subscribe } from '@matter/main/protocol';
import { VendorId } from '@matter/main/types';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { HubProblems } from '../core/health.ts';
import type { Service } from '../core/lifecycle.ts';
import { type Logger, redact } from '../core/logger.ts';
import type { FileAnchor } from '../core/storage/file-anchor.ts';
import type { AdapterBle } from './ble/ble-central.ts';
import { FabricStorage, NODE_FOLDER } from './storage/fabric-storage.ts';
import { BatchStorageDriver } from './storage/storage-driver.ts';

// A controller never shows its vendor id for certification; the CSA keeps 0xFFF1 to 0xFFF4 for such use.
const TEST_VENDOR = VendorId(0xfff1);
/** The key of the environment's model; its constructor's parameters are of no interest. */
const MODEL = MatterModel as unknown as abstract new () => MatterModel;
/** What a stop may cost; a close without trouble takes a third of a second. */
const CLOSE_LIMIT_MS = 800;
// A commissioning changes several rows in a row; one copy of them is enough.
const SNAPSHOT_DELAY_MS = 1_000;
/** What devices show for this hub's fabric, at most 32 characters. */
const FABRIC_LABEL = 'atmosphere-edge';
/** Longest time between two reports of a quiet device; devices may choose more. */
const REPORT_CEILING_SECONDS = 30;

/** What the node needs of the hub. */
export interface MatterNodeCollaborators {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly problems: Pick<HubProblems, 'raise'>;
  /** Of the file that holds the fabric. */
  readonly anchor: FileAnchor;
}

/** Where the node keeps its state and what it may use of the machine. */
export interface MatterNodeOptions {
  /** Folder of everything that Matter keeps; the caller holds the hub's lock on it. */
  readonly stateDir: string;
  /** Network interface for mDNS; all by default. */
  readonly interface?: string;
  /** UDP port; any free one by default. */
  readonly port?: number;
  /** Models of manufacturers' own clusters. */
  readonly clusters?: readonly ClusterModel[];
  /** Bluetooth for commissioning, disposed with the node; without it devices are found on the IP network only. */
  readonly ble?: AdapterBle;
}

const HubRootEndpoint = ServerNode.RootEndpoint.with(ControllerBehavior);
type HubNode = ServerNode<typeof HubRootEndpoint>;

/**
 * This hub as a Matter node: it owns a fabric and knows the nodes it commissioned. One per process, since matter.js
 * keeps its storage path and network in one environment.
 */
export class MatterNode implements Service {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #options: MatterNodeOptions;
  readonly #addedListeners = new Set<(peer: ClientNode) => void>();
  readonly #removedListeners = new Set<(peer: ClientNode) => void>();
  readonly #known = new Set<ClientNode>();
  readonly #storage: FabricStorage;
  readonly #anchor: FileAnchor;
  #cancelSnapshot: (() => void) | undefined;
  #node: HubNode | undefined;
  #fabric: Fabric | undefined;

  constructor(collaborators: MatterNodeCollaborators, options: MatterNodeOptions) {
    this.#logger = collaborators.logger;
    this.#clock = collaborators.clock;
    this.#options = options;
    this.#anchor = collaborators.anchor;
    this.#storage = new FabricStorage(collaborators, { stateDir: options.stateDir });
  }

  /** The matter.js node. INTERNAL_ERROR before `start` and after disposal. */
  get node(): HubNode {
    if (this.#node === undefined) throw new AtmoError('INTERNAL_ERROR', 'The Matter node is not running; start it first');
    return this.#node;
  }

  /** All peers of matter.js, nodes that are only discovered included. */
  get peers(): Peers {
    return this.node.peers;
  }

  /** The fabric that this hub owns. */
  get fabric(): Fabric {
    if (this.#fabric === undefined) throw new AtmoError('INTERNAL_ERROR', 'The Matter node is not running; start it first');
    return this.#fabric;
  }

  /** Nodes on our fabric, whether they answer or not. */
  commissionedPeers(): readonly ClientNode[] {
    return [...this.peers].filter((peer) => peer.nodeType === 'client' && peer.lifecycle.isCommissioned);
  }

  /** Bluetooth, where it is on. */
  get ble(): AdapterBle | undefined {
    return this.#options.ble;
  }

  /** What a peer is subscribed with; given at commissioning, since changing it later loses the running subscription. */
  get subscription(): Subscribe.Options {
    return { minIntervalFloor: Seconds(0), maxIntervalCeiling: Seconds(REPORT_CEILING_SECONDS) };
  }

  /** Hears each node that joins our fabric from now on, once its structure was read. */
  onPeerAdded(listener: (peer: ClientNode) => void): () => void {
    return subscribe(this.#addedListeners, listener);
  }

  /** Hears each node that leaves our fabric, decommissioned, forgotten, or reset at the device. */
  onPeerRemoved(listener: (peer: ClientNode) => void): () => void {
    return subscribe(this.#removedListeners, listener);
  }

  /** STORAGE_FAILED when the fabric's storage is damaged beyond the snapshots. */
  async start(): Promise<void> {
    process.umask(0o077);
    routeMatterLog(this.#logger);
    this.#storage.prepare();
    this.#configureEnvironment();
    const node = await this.#createNode();
    this.#node = node;
    try {
      await this.#openFabric(node);
      this.#watchPeers(node.peers);
      await node.start();
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #openFabric(node: HubNode): Promise<void> {
    const authority = await node.env.load(FabricAuthority);
    // Rotating the operational certificate at every start would only wear the flash.
    this.#fabric = await authority.defaultFabric({ adminFabricLabel: FABRIC_LABEL, adminVendorId: TEST_VENDOR }, false);
    this.#storage.confirmFabric();
    this.#storage.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const node = this.#node;
    this.#node = undefined;
    this.#fabric = undefined;
    if (node === undefined) return;
    // close() of 0.17.9 waits up to 5 s for activity of the node that does not settle, such as a request to a peer that does not answer
    // (ACTIVITY_DRAIN_TIMEOUT in NetworkRuntime). It has also not ended within 4 s with devices of other fabrics on the link; such devices
    // alone, reachable, gone or shared, do not bring that about.
    const isClosed = await Promise.race([node.close().then(() => true), this.#after(CLOSE_LIMIT_MS)]);
    if (!isClosed) await this.#giveUp(node);
    await this.#options.ble?.[Symbol.asyncDispose]();
    // Closing has written what was read from the devices: only now a copy is complete.
    if (this.#cancelSnapshot !== undefined) this.#snapshotNow();
  }

  /** Does what the next start needs of a close: what was read from the devices is written, storage and its lock are free. */
  async #giveUp({ env }: HubNode): Promise<void> {
    this.#logger.warn('matter.close_gave_up', { limitMs: CLOSE_LIMIT_MS });
    try {
      if (env.has(ClientCacheBuffer)) await env.get(ClientCacheBuffer).close();
      await env.close(ServerNodeStore);
      if (env.has(DatafileRoot.Lock)) await env.get(DatafileRoot.Lock).close();
    } catch (error) {
      this.#logger.warn('matter.storage_not_closed', { reason: String(error) });
    }
  }

  #after(delayMs: number): Promise<false> {
    return new Promise((resolve) => this.#clock.after(delayMs, () => resolve(false)));
  }

  #configureEnvironment(): void {
    const { vars } = Environment.default;
    if (this.#options.ble !== undefined) Environment.default.set(Ble, this.#options.ble);
    // Known peers are built from storage before the controller's own `matter` option counts: a model that came later would be missed.
    Environment.default.set(MODEL, this.#options.clusters?.length ? Matter.withClusters(...this.#options.clusters) : Matter);
    vars.set('storage.path', this.#options.stateDir);
    vars.set('storage.driver', BatchStorageDriver.id);
    Environment.default.get(StorageService).registerDriver(BatchStorageDriver.anchoredBy(this.#anchor));
    vars.set('mdns.ipv4', true);
    if (this.#options.interface !== undefined) vars.set('mdns.networkInterface', this.#options.interface);
  }

  #createNode(): Promise<HubNode> {
    const options = this.#options;
    return ServerNode.create(HubRootEndpoint, {
      id: NODE_FOLDER,
      environment: Environment.default,
      commissioning: { enabled: false },
      controller: {
        adminFabricLabel: FABRIC_LABEL,
        ble: options.ble !== undefined,
      },
      network: {
        port: options.port ?? 0,
        ble: false,
        ipv4: true,
      },
      basicInformation: {
        vendorId: TEST_VENDOR,
        vendorName: 'atmosphere-edge',
        productId: 0x8001,
        productName: 'atmosphere-edge',
        productLabel: 'hub',
        hardwareVersion: 1,
        softwareVersion: 1,
      },
      subscriptions: { persistenceEnabled: false },
    });
  }

  #watchPeers(peers: Peers): void {
    for (const peer of peers) this.#watchPeer(peer);
    peers.added.on((peer) => this.#watchPeer(peer));
    peers.deleted.on((peer) => this.#forget(peer));
  }

  #watchPeer(peer: ClientNode): void {
    if (peer.lifecycle.isCommissioned && peer.nodeType === 'client') this.#known.add(peer);
    peer.lifecycle.commissioned.on(() => this.#snapshotSoon());
    peer.lifecycle.decommissioned.on(() => this.#forget(peer));
    // The first time online after commissioning is when the structure has been read.
    peer.lifecycle.online.on(() => {
      // matter.js keeps groups among the peers too.
      if (this.#known.has(peer) || peer.nodeType !== 'client') return;
      this.#known.add(peer);
      for (const listener of this.#addedListeners) listener(peer);
    });
  }

  #forget(peer: ClientNode): void {
    if (!this.#known.delete(peer)) return;
    for (const listener of this.#removedListeners) listener(peer);
    this.#snapshotSoon();
  }

  #snapshotNow(): void {
    this.#cancelSnapshot?.();
    this.#cancelSnapshot = undefined;
    this.#storage.snapshot();
  }

  #snapshotSoon(): void {
    this.#cancelSnapshot?.();
    this.#cancelSnapshot = this.#clock.after(SNAPSHOT_DELAY_MS, () => this.#snapshotNow());
  }
}

function subscribe<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Least severe lines of matter.js that reach the hub's log. */
export type MatterLogThreshold = 'warn' | 'error';

/**
 * Sends what matter.js logs to the hub's logger as `matter` events with fields `facility` and `text`, redacted. Less
 * severe lines are dropped whatever the hub's own level is: from INFO on matter.js prints the identity protection key
 * and the whole Thread dataset.
 */
export function routeMatterLog(logger: Logger, threshold: MatterLogThreshold = 'warn'): void {
  MatterLogger.level = threshold === 'warn' ? MatterLogLevel.WARN : MatterLogLevel.ERROR;
  const destination = MatterLogger.destinations.default;
  if (destination === undefined) return;
  destination.add = (message) => {
    if (message.level < MatterLogLevel.WARN) return;
    const fields = { facility: message.facility, text: renderText(message) };
    if (message.level >= MatterLogLevel.ERROR) logger.error('matter', fields);
    else logger.warn('matter', fields);
  };
}

/** A message's values as one line of plain text without secrets, at most 500 characters. */
function renderText(message: Diagnostic.Message): string {
  const text = LogFormat.format(message.values, LogFormat.PLAIN);
  const line = String(redact(text)).replace(/\s+/g, ' ');
  return line.length > 500 ? `${line.slice(0, 499)}…` : line;
}
