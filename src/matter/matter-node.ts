import type { HubContext } from '../core/context.ts';
import './matter-platform.ts';
import {
  Crypto,
  DatafileRoot,
  type Diagnostic,
  Entropy,
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
import { Ble, ClientSubscriptions, type Fabric, FabricAuthority, PeerSet, SessionManager, type Subscribe } from '@matter/main/protocol';
import { VendorId } from '@matter/main/types';
import { pause } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { HubProblems } from '../core/health.ts';
import type { Service } from '../core/lifecycle.ts';
import { type Logger, redact } from '../core/logger.ts';
import type { FileAnchor } from '../core/storage/key-value-store.ts';
import type { AdapterBle } from './ble/ble-central.ts';
import { sessionCrypto } from './session-crypto.ts';
import { FabricStorage, NODE_FOLDER } from './storage/fabric-storage.ts';
import { BatchStorageDriver } from './storage/matter-database.ts';

// A vendor id for tests (the CSA reserves 0xFFF1 to 0xFFF4). It is sufficient: no certification checks the vendor id of a controller.
const TEST_VENDOR = VendorId(0xfff1);
/** Class under which the environment of matter.js stores the Matter model. The cast only hides the constructor parameters. */
const MODEL = MatterModel as unknown as abstract new () => MatterModel;
/** Time limit for closing the node, which normally takes less than a tenth of a second. */
const CLOSE_LIMIT_MS = 800;
// Milliseconds from a change to its snapshot. A commissioning changes several rows, and one snapshot after all of them is enough.
const SNAPSHOT_DELAY_MS = 1_000;
/** Label of this hub's fabric on devices, at most 32 characters. */
const FABRIC_LABEL = 'atmosphere-edge';
/** The hub requests at most this time between two subscription reports. A device may choose a longer time. */
const REPORT_CEILING_SECONDS = 30;

/** The services of the hub that the node uses. */
export interface MatterNodeCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly problems: Pick<HubProblems, 'raise'>;
  /** Detects that the database file of the fabric was lost, emptied or replaced by an older file. */
  readonly anchor: FileAnchor;
}

/** Options of the node: its folder, network, cluster models and Bluetooth. */
export interface MatterNodeOptions {
  /** Folder of all Matter state; the caller must hold the hub's lock on it. */
  readonly stateDir: string;
  /** Network interface for mDNS; all interfaces by default. */
  readonly interface?: string;
  /** UDP port; any free port by default. */
  readonly port?: number;
  readonly clusters?: readonly ClusterModel[];
  /** Bluetooth for commissioning, disposed with the node. Without it, the hub finds devices on the IP network only. */
  readonly ble?: AdapterBle;
}

const HubRootEndpoint = ServerNode.RootEndpoint.with(ControllerBehavior);
type HubNode = ServerNode<typeof HubRootEndpoint>;

/**
 * Runs this hub as a Matter node, and gives access to its fabric and to the other nodes on the fabric. A process can have only one
 * MatterNode, since matter.js has one environment with one storage path and network.
 */
export class MatterNode implements Service {
  readonly #parts: MatterNodeCollaborators;
  readonly #options: MatterNodeOptions;
  readonly #addedListeners = new Set<(peer: ClientNode) => void>();
  readonly #removedListeners = new Set<(peer: ClientNode) => void>();
  readonly #known = new Set<ClientNode>();
  readonly #storage: FabricStorage;
  #cancelSnapshot: (() => void) | undefined;
  #node: HubNode | undefined;
  #fabric: Fabric | undefined;

  constructor(parts: MatterNodeCollaborators, options: MatterNodeOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#storage = new FabricStorage(parts, options.stateDir);
  }

  /** The matter.js node. Throws INTERNAL_ERROR before `start` and after disposal. */
  get node(): HubNode {
    return requireRunning(this.#node);
  }

  /** All peers of matter.js, including nodes that are only discovered. */
  get peers(): Peers {
    return this.node.peers;
  }

  get fabric(): Fabric {
    return requireRunning(this.#fabric);
  }

  /** Returns the nodes on our fabric, whether they are reachable or not. */
  commissionedPeers(): readonly ClientNode[] {
    return [...this.peers].filter((peer) => peer.nodeType === 'client' && peer.lifecycle.isCommissioned);
  }

  /** Bluetooth for commissioning; undefined if it is off. */
  get ble(): AdapterBle | undefined {
    return this.#options.ble;
  }

  /** Options of a subscription to a peer. They are set at commissioning, since a later change would end the running subscription. */
  get subscription(): Subscribe.Options {
    return { minIntervalFloor: Seconds(0), maxIntervalCeiling: Seconds(REPORT_CEILING_SECONDS) };
  }

  /** Calls `listener` with each node that joins our fabric, after its structure was read. */
  onPeerAdded(listener: (peer: ClientNode) => void): () => void {
    this.#addedListeners.add(listener);
    return () => this.#addedListeners.delete(listener);
  }

  /** Calls `listener` with each node that leaves our fabric: decommissioned, removed by force, or reset on the device. */
  onPeerRemoved(listener: (peer: ClientNode) => void): () => void {
    this.#removedListeners.add(listener);
    return () => this.#removedListeners.delete(listener);
  }

  /** Starts the node. Throws STORAGE_FAILED if the storage of the fabric and all its snapshots are damaged. */
  async start(): Promise<void> {
    process.umask(0o077);
    routeMatterLog(this.#parts.logger);
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
    // `false` keeps the operational certificate. A new certificate at each start would only wear out the flash memory.
    this.#fabric = await authority.defaultFabric({ adminFabricLabel: FABRIC_LABEL, adminVendorId: TEST_VENDOR }, false);
    this.#storage.confirmFabric();
    this.#storage.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const node = this.#node;
    this.#node = undefined;
    this.#fabric = undefined;
    if (node === undefined) return;
    // In matter.js 0.17.9, close() also waits up to 5 s for pending activities (ACTIVITY_DRAIN_TIMEOUT in NetworkRuntime). So the hub stops
    // waiting after CLOSE_LIMIT_MS.
    const ended = new AbortController();
    const closed = closeNode(node).then(() => true);
    const isClosed = await Promise.race([closed, pause(this.#parts.clock, CLOSE_LIMIT_MS, ended.signal)]);
    ended.abort();
    if (!isClosed) await this.#releaseStorage(node);
    await this.#options.ble?.[Symbol.asyncDispose]();
    // A pending snapshot is made only now, because the close has just written the attributes that were read from the devices.
    if (this.#cancelSnapshot !== undefined) this.#snapshotNow();
  }

  /** Called if the node did not close in time. Writes the devices' attributes, and releases the storage and its lock for a new start. */
  async #releaseStorage({ env }: HubNode): Promise<void> {
    const { logger } = this.#parts;
    logger.warn('matter.close_timed_out', { limitMs: CLOSE_LIMIT_MS });
    try {
      if (env.has(ClientCacheBuffer)) await env.get(ClientCacheBuffer).close();
      await env.close(ServerNodeStore);
      if (env.has(DatafileRoot.Lock)) await env.get(DatafileRoot.Lock).close();
    } catch (error) {
      logger.warn('matter.storage_not_closed', { reason: String(error) });
    }
  }

  #configureEnvironment(): void {
    const { vars } = Environment.default;
    const crypto = sessionCrypto();
    Environment.default.set(Crypto, crypto);
    Environment.default.set(Entropy, crypto);
    if (this.#options.ble !== undefined) Environment.default.set(Ble, this.#options.ble);
    // The model is set in the environment, because matter.js builds stored peers before it reads the controller's `matter` option.
    Environment.default.set(MODEL, this.#options.clusters?.length ? Matter.withClusters(...this.#options.clusters) : Matter);
    vars.set('storage.path', this.#options.stateDir);
    vars.set('storage.driver', BatchStorageDriver.id);
    Environment.default.get(StorageService).registerDriver(BatchStorageDriver.anchoredBy(this.#parts.anchor, NODE_FOLDER));
    vars.set('mdns.ipv4', true);
    if (this.#options.interface !== undefined) vars.set('mdns.networkInterface', this.#options.interface);
  }

  #createNode(): Promise<HubNode> {
    const { ble, port = 0 } = this.#options;
    return ServerNode.create(HubRootEndpoint, {
      id: NODE_FOLDER,
      environment: Environment.default,
      commissioning: { enabled: false },
      controller: { adminFabricLabel: FABRIC_LABEL, ble: ble !== undefined },
      network: { port, ble: false, ipv4: true },
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
    // When a new peer is first `online`, its structure has been read.
    peer.lifecycle.online.on(() => {
      // Groups are skipped, because the peers of matter.js include them too.
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
    this.#cancelSnapshot = this.#parts.clock.after(SNAPSHOT_DELAY_MS, () => this.#snapshotNow());
  }
}

/**
 * Ends all exchanges with peers, then closes the node. matter.js would do it the other way round: close() first waits until each connection
 * attempt has ended. One that resumes a session and gets no acknowledgement of its last message, since the device lost its link just then,
 * ends only after the last repetition, 14 s later: CaseClient of 0.17.9 sends that message (Sigma2Resume-Success) without the signal that
 * aborts the attempt.
 */
async function closeNode(node: HubNode): Promise<void> {
  const { env } = node;
  await Promise.allSettled([
    env.get(ClientSubscriptions).close(),
    env.get(PeerSet).disconnect(),
    env.get(SessionManager).closeAllSessions(),
  ]);
  await node.close();
}

function requireRunning<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new AtmoError('INTERNAL_ERROR', 'The Matter node is not running; start it first');
  return part;
}

/**
 * Sends warnings and errors of matter.js to the hub's logger as `matter.message_logged` events with the redacted fields `facility` and `text`. Drops all
 * other lines at any log level of the hub: at INFO, matter.js prints the identity protection key and the whole Thread dataset.
 */
export function routeMatterLog(logger: Logger): void {
  MatterLogger.level = MatterLogLevel.WARN;
  const destination = MatterLogger.destinations.default;
  if (destination === undefined) return;
  destination.add = (message) => {
    if (message.level < MatterLogLevel.WARN) return;
    const fields = { facility: message.facility, text: renderText(message) };
    if (message.level >= MatterLogLevel.ERROR) logger.error('matter.message_logged', fields);
    else logger.warn('matter.message_logged', fields);
  };
}

/** Returns the values of a log message as one line of plain text without secrets, at most 500 characters. */
function renderText(message: Diagnostic.Message): string {
  const text = LogFormat.format(message.values, LogFormat.PLAIN);
  const line = String(redact(text)).replace(/\s+/g, ' ');
  return line.length > 500 ? `${line.slice(0, 499)}…` : line;
}
