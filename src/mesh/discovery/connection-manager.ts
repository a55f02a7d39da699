import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { formatHostPort, parseHostPort } from '../transport/host-port.ts';
import type { EnginePeer, MeshEngine, PeerAddress } from '../transport/mesh-engine.ts';
import type { Discovery } from './discovery.ts';
import { HUB_SERVICE_TYPE, hubSighting } from './hub-discovery.ts';
import { ConnectionPruner, selectNeighbours } from './neighbour-selection.ts';
import type { InterfaceWatch } from './network-interfaces.ts';
import { type KnownAddresses, PeerAddressRegistry, PeerAddressStore } from './peer-addresses.ts';
import { PeerDialler } from './peer-dialler.ts';

/** Of two hubs that meet, the one with the lower id connects; the other one only when that did not happen. */
const FIRST_CONTACT_MS = 500;
const AFTER_LOSS_MS = 3_000;
const REVIEW_MS = 2_000;
const UNREACHABLE_AFTER_FAILURES = 3;

/** What the keeper needs. */
export interface ConnectionManagerCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly engine: MeshEngine;
  readonly meshId: string;
  /** None when the owner has switched discovery off. */
  readonly discovery: Discovery | undefined;
  /** Started before this; not disposed here. */
  readonly watch: InterfaceWatch;
  readonly store: KeyValueStore;
  /** What members announce of themselves. */
  readonly announced: () => readonly KnownAddresses[];
  /** Hubs that are not to be connected any more. */
  readonly isBarred: (id: HubId) => boolean;
  /** 0 to below 1; tests give their own. */
  readonly random?: (() => number) | undefined;
}

/** What the owner has set. */
export interface ConnectionManagerOptions {
  /** `host:port` of hubs that discovery cannot find. */
  readonly peers: readonly string[];
}

/** Keeps this hub connected: finds hubs, chooses its neighbours among them, connects them, for ever. */
export class ConnectionManager implements Service {
  readonly #parts: ConnectionManagerCollaborators;
  readonly #random: () => number;
  readonly #peers: readonly string[];
  readonly #remembered: PeerAddressStore;
  readonly #book: PeerAddressRegistry;
  readonly #spare: ConnectionPruner;
  readonly #diallers = new Map<string, PeerDialler>();
  readonly #hubAt = new Map<string, HubId>();
  readonly #stop = new AbortController();
  #leave: readonly (() => void)[] = [];
  #cancelReview: (() => void) | undefined;
  #refusals = 0;

  constructor(parts: ConnectionManagerCollaborators, options: ConnectionManagerOptions) {
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#peers = options.peers;
    this.#remembered = new PeerAddressStore(parts.store, parts.clock);
    this.#book = new PeerAddressRegistry({
      announced: parts.announced,
      isBarred: parts.isBarred,
      self: parts.engine.id,
      remembered: this.#remembered,
      own: () => this.#ownAddresses(),
    });
    this.#spare = new ConnectionPruner(parts.clock, parts.engine);
  }

  /** Tries of this hub that were refused at every address, since the start. */
  get refusals(): number {
    return this.#refusals;
  }

  async start(): Promise<void> {
    const { engine, watch, discovery } = this.#parts;
    this.#leave = [
      engine.onPeerUp((peer) => this.#up(peer)),
      engine.onPeerDown((peer) => this.#down(peer)),
      watch.onChange(() => this.#hurryAll()),
    ];
    discovery?.browse(
      HUB_SERVICE_TYPE,
      {
        found: (service) => this.#sight(hubSighting(service, this.#parts.meshId)),
        lost: (name) => this.#book.removeDiscovered(name as HubId),
      },
      this.#stop.signal,
    );
    this.#reviewLater(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#cancelReview?.();
    for (const leave of this.#leave) leave();
    for (const dialler of this.#diallers.values()) dialler.stop();
    this.#diallers.clear();
  }

  /** Something about the members has changed: whom they are, where they are, who is barred. */
  review(): void {
    if (this.#stop.signal.aborted) return;
    const connected = new Set(this.#parts.engine.peers().map(({ id }) => id));
    const wanted = this.#wanted();
    for (const id of wanted) if (!connected.has(id)) this.#dialler(id).schedule(this.#courtesyMs(id, FIRST_CONTACT_MS));
    for (const text of this.#peers) this.#keepGiven(text, connected);
    this.#leaveUnwanted(wanted);
    this.#spare.prune(wanted, this.#book.all().size);
  }

  /**
   * Connects a hub at once because a call wants it, and keeps the connection for some minutes. NODE_UNAVAILABLE when it
   * cannot be reached at any address, PERMISSION_DENIED when it has been revoked, CANCELLED.
   */
  async dialNow(id: HubId, signal: AbortSignal): Promise<EnginePeer> {
    const present = this.#peer(id);
    this.#spare.noteRequest(id);
    if (present !== undefined) return present;
    if (this.#parts.isBarred(id)) throw new AtmoError('PERMISSION_DENIED', `Hub ${id} was removed from the mesh`);
    const cancelled = Promise.withResolvers<never>();
    const cancel = () => cancelled.reject(new AtmoError('CANCELLED', `Connecting hub ${id} was cancelled`));
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      const dialled = await Promise.race([this.#dialler(id).dialNow(), cancelled.promise]);
      const peer = dialled ?? this.#peer(id);
      if (peer !== undefined) return peer;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
    throw new AtmoError(
      'NODE_UNAVAILABLE',
      `Hub ${id} answers at none of its addresses; is it switched on and in a network that this one reaches?`,
    );
  }

  /** Neighbours as all see them, more where some cannot be reached, those that strangers may have made up, the owner's own. */
  #wanted(): ReadonlySet<HubId> {
    const self = this.#parts.engine.id;
    const proven = this.#book.proven();
    const all = this.#book.all();
    const reachable = [...all].filter((id) => (this.#diallers.get(id)?.failures ?? 0) < UNREACHABLE_AFTER_FAILURES);
    return new Set([
      ...selectNeighbours(self, proven),
      ...selectNeighbours(self, all),
      ...selectNeighbours(self, reachable),
      ...this.#book.configured(),
    ]);
  }

  #sight(sighting: ReturnType<typeof hubSighting>): void {
    if (sighting === undefined || sighting.id === this.#parts.engine.id) return;
    this.#book.addDiscovered(sighting.id, sighting.addresses);
    this.#diallers.get(sighting.id)?.retrySoon();
    this.#reviewLater(0);
  }

  #up(peer: EnginePeer): void {
    this.#diallers.get(peer.id)?.onConnected();
  }

  #down(peer: EnginePeer): void {
    if (!this.#wanted().has(peer.id)) return;
    const dialler = this.#dialler(peer.id);
    dialler.onDisconnected();
    dialler.schedule(this.#courtesyMs(peer.id, AFTER_LOSS_MS));
  }

  #connected(peer: EnginePeer, address: PeerAddress): void {
    if (peer.direction === 'outbound') this.#remembered.remember(peer.id, address);
    this.#parts.logger.debug('mesh.connected', { peer: peer.id, address: formatHostPort(address) });
  }

  /** Who is at the owner's address is learnt by connecting; then it is a hub like the others, until it cannot be reached. */
  #keepGiven(text: string, connected: ReadonlySet<HubId>): void {
    const id = this.#hubAt.get(text);
    const isKept = id !== undefined && (connected.has(id) || (this.#diallers.get(id)?.failures ?? 0) < UNREACHABLE_AFTER_FAILURES);
    const address = parseHostPort(text);
    if (isKept || address === undefined || this.#ownAddresses().has(formatHostPort(address))) this.#diallers.get(text)?.stop();
    else this.#givenDialler(text, address).schedule(0);
  }

  #givenDialler(text: string, address: PeerAddress): PeerDialler {
    return this.#add(text, {
      addresses: () => [address],
      connected: (peer) => {
        this.#hubAt.set(text, peer.id);
        this.#book.addConfigured(peer.id, address);
        this.#connected(peer, address);
      },
    });
  }

  #dialler(id: HubId): PeerDialler {
    return this.#add(id, {
      addresses: () => this.#book.addressesOf(id),
      connected: (peer, address) => this.#connected(peer, address),
    });
  }

  #add(
    name: string,
    what: { addresses: () => readonly PeerAddress[]; connected: (peer: EnginePeer, address: PeerAddress) => void },
  ): PeerDialler {
    const refused = () => {
      this.#refusals += 1;
    };
    const dialler =
      this.#diallers.get(name) ??
      new PeerDialler({
        clock: this.#parts.clock,
        logger: this.#parts.logger,
        engine: this.#parts.engine,
        random: this.#random,
        addresses: what.addresses,
        connected: what.connected,
        name,
        refused,
      });
    this.#diallers.set(name, dialler);
    return dialler;
  }

  /** What was learnt of a hub that is still known is kept: its pauses do not begin anew when it is wanted again. */
  #leaveUnwanted(wanted: ReadonlySet<HubId>): void {
    const known = this.#book.all();
    for (const [name, dialler] of this.#diallers) {
      const id = name as HubId;
      if (this.#peers.includes(name) || wanted.has(id) || this.#spare.isRequested(id)) continue;
      dialler.stop();
      if (!known.has(id)) this.#diallers.delete(name);
    }
  }

  #peer(id: HubId): EnginePeer | undefined {
    return this.#parts.engine.peers().find((peer) => peer.id === id);
  }

  #courtesyMs(id: HubId, delayMs: number): number {
    return this.#parts.engine.id < id ? 0 : delayMs;
  }

  #hurryAll(): void {
    for (const dialler of this.#diallers.values()) dialler.retrySoon();
    this.#reviewLater(0);
  }

  #reviewLater(delayMs: number): void {
    this.#cancelReview?.();
    if (this.#stop.signal.aborted) return;
    this.#cancelReview = this.#parts.clock.after(delayMs, () => {
      this.#reviewLater(REVIEW_MS);
      this.review();
    });
  }

  #ownAddresses(): ReadonlySet<string> {
    const { engine, watch } = this.#parts;
    const ports = engine.listenAddresses().flatMap((text) => parseHostPort(text)?.port ?? []);
    const hosts = watch.interfaces.flatMap(({ addresses }) => addresses.map(({ host }) => host));
    const own = [...hosts, '127.0.0.1', '::1', 'localhost'].flatMap((host) => ports.map((port) => formatHostPort({ host, port })));
    return new Set([...engine.listenAddresses(), ...own]);
  }
}
