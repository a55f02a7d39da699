import type { Clock } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { type EnginePeer, formatHostPort, type MeshEngine, type PeerAddress, parseHostPort } from '../transport/mesh-engine.ts';
import type { Discovery } from './discovery.ts';
import { HUB_SERVICE_TYPE, hubSighting } from './hub-discovery.ts';
import { FULL_MESH_MEMBERS, selectNeighbours } from './neighbour-choice.ts';
import type { InterfaceWatch } from './network-interfaces.ts';
import { type KnownAddresses, PeerAddressRegistry, PeerAddressStore } from './peer-addresses.ts';
import { PeerDialler } from './peer-dialler.ts';

/** Of two hubs, the one with the lower id dials at once. The other one dials after this delay in milliseconds. */
const FIRST_CONTACT_MS = 500;
const AFTER_LOSS_MS = 3_000;
const REVIEW_MS = 2_000;
const UNREACHABLE_AFTER_FAILURES = 3;

interface ConnectionManagerCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'store'> {
  readonly engine: MeshEngine;
  readonly meshId: string;
  /** Discovery by DNS-SD; undefined if it is switched off. */
  readonly discovery: Discovery | undefined;
  /** Interface watch. It must be started before the connection manager, which does not dispose it. */
  readonly watch: InterfaceWatch;
  readonly announced: () => readonly KnownAddresses[];
  readonly isBarred: (id: HubId) => boolean;
  /** Other sites of the mesh; undefined if this hub has no site. */
  readonly sites?: SiteConnections | undefined;
  /** Returns a random number from 0 to below 1; tests replace it. */
  readonly random?: (() => number) | undefined;
}

/** Port: the connections that a hub has with other sites. */
interface SiteConnections {
  readonly site: string;
  /** Returns whether a hub is of another site. Such a hub is no neighbour, unless it is wanted. */
  isElsewhere(id: HubId): boolean;
  /** Returns the border members of other sites to which this hub must be connected. */
  wantedPeers(): readonly KnownAddresses[];
}

/** Finds the hubs of the mesh, selects neighbours among them and keeps connections to these neighbours. */
export class ConnectionManager implements Service {
  readonly #collaborators: ConnectionManagerCollaborators;
  readonly #random: () => number;
  readonly #peers: readonly string[];
  readonly #remembered: PeerAddressStore;
  readonly #addresses: PeerAddressRegistry;
  readonly #pruner: ConnectionPruner;
  readonly #diallers = new Map<string, PeerDialler>();
  readonly #hubAt = new Map<string, HubId>();
  readonly #stop = new AbortController();
  #stopListeners: readonly (() => void)[] = [];
  #cancelReview: (() => void) | undefined;
  #refusals = 0;

  /** `options.peers` are the addresses, as `host:port`, of hubs that discovery cannot find. */
  constructor(collaborators: ConnectionManagerCollaborators, options: { readonly peers: readonly string[] }) {
    this.#collaborators = collaborators;
    this.#random = collaborators.random ?? Math.random;
    this.#peers = options.peers;
    this.#remembered = new PeerAddressStore(collaborators.store, collaborators.clock);
    this.#addresses = new PeerAddressRegistry({
      announced: collaborators.announced,
      isBarred: collaborators.isBarred,
      self: collaborators.engine.id,
      remembered: this.#remembered,
      own: () => this.#ownAddresses(),
    });
    this.#pruner = new ConnectionPruner(collaborators.clock, collaborators.engine);
  }

  /** Number of dial attempts that failed since the start because every dialled address refused this hub. */
  get refusals(): number {
    return this.#refusals;
  }

  async start(): Promise<void> {
    const { engine, watch, discovery } = this.#collaborators;
    this.#stopListeners = [
      engine.onPeerUp(({ id }) => this.#diallers.get(id)?.onConnected()),
      engine.onPeerDown((peer) => this.#onPeerDown(peer)),
      watch.onChange(() => this.#retryAll()),
    ];
    discovery?.browse(
      HUB_SERVICE_TYPE,
      {
        found: (service) => this.#onSighting(hubSighting(service, this.#collaborators)),
        lost: (name) => this.#addresses.removeDiscovered(name as HubId),
      },
      this.#stop.signal,
    );
    this.#reviewLater(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#cancelReview?.();
    for (const stop of this.#stopListeners) stop();
    for (const dialler of this.#diallers.values()) dialler.stop();
    this.#diallers.clear();
  }

  /** Starts and ends connections after the members, their addresses or the revocations have changed. */
  review(): void {
    if (this.#stop.signal.aborted) return;
    const connected = new Set(this.#collaborators.engine.peers().map(({ id }) => id));
    const proven = this.#addresses.proven();
    const known = this.#addresses.all(proven);
    const wanted = this.#wanted(proven, known);
    for (const id of wanted) if (!connected.has(id)) this.#dialler(id).schedule(this.#dialDelayMs(id, FIRST_CONTACT_MS));
    for (const text of this.#peers) this.#keepConfigured(text, connected);
    this.#stopUnwanted(wanted, known);
    this.#pruner.prune(wanted, known.size);
  }

  /**
   * Connects at once to a hub that a call needs; this hub keeps the connection for at least five minutes. Rejects with NODE_UNAVAILABLE if
   * the other hub answers at no address, PERMISSION_DENIED if it was revoked, or CANCELLED if the signal aborts.
   */
  async dialNow(id: HubId, signal: AbortSignal): Promise<EnginePeer> {
    const present = this.#peer(id);
    this.#pruner.noteRequest(id);
    if (present !== undefined) return present;
    if (this.#collaborators.isBarred(id)) throw new AtmoError('PERMISSION_DENIED', `Hub ${id} was removed from the mesh`);
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

  // Returns the hubs to connect to: all hubs at configured addresses, and neighbours. Neighbours are selected three times: among the proven
  // hubs, among all known hubs and among the reachable hubs.
  #wanted(knownProven = this.#addresses.proven(), known = this.#addresses.all(knownProven)): ReadonlySet<HubId> {
    const { engine, sites } = this.#collaborators;
    const self = engine.id;
    const isHere = (id: HubId) => !sites?.isElsewhere(id);
    const all = sites ? new Set([...known].filter(isHere)) : known;
    const proven = sites ? new Set([...knownProven].filter(isHere)) : knownProven;
    const borders = (sites?.wantedPeers() ?? []).map(({ id }) => id).filter((id) => known.has(id));
    const reachable = [...all].filter((id) => (this.#diallers.get(id)?.failures ?? 0) < UNREACHABLE_AFTER_FAILURES);
    // Mostly the three are the same hubs.
    const further = [...(all.size > proven.size ? [all] : []), ...(reachable.length < all.size ? [reachable] : [])];
    return new Set([
      ...[proven, ...further].flatMap((hubs) => [...selectNeighbours(self, hubs)]),
      ...borders,
      ...this.#addresses.configured(),
    ]);
  }

  #onSighting(sighting: ReturnType<typeof hubSighting>): void {
    if (sighting === undefined || sighting.id === this.#collaborators.engine.id) return;
    this.#addresses.addDiscovered(sighting.id, sighting.addresses);
    this.#diallers.get(sighting.id)?.retrySoon();
    this.#reviewLater(0);
  }

  #onPeerDown(peer: EnginePeer): void {
    if (!this.#wanted().has(peer.id)) return;
    const dialler = this.#dialler(peer.id);
    dialler.onDisconnected();
    dialler.schedule(this.#dialDelayMs(peer.id, AFTER_LOSS_MS));
  }

  #connected(peer: EnginePeer, address: PeerAddress): void {
    if (peer.direction === 'outbound') this.#remembered.remember(peer.id, address);
    this.#collaborators.logger.debug('mesh.connected', { peer: peer.id, address: formatHostPort(address) });
  }

  /** Dials a configured address. While the hub at this address is known and reachable, only the dialler for the hub's id dials that hub. */
  #keepConfigured(text: string, connected: ReadonlySet<HubId>): void {
    const id = this.#hubAt.get(text);
    const isKept = id !== undefined && (connected.has(id) || (this.#diallers.get(id)?.failures ?? 0) < UNREACHABLE_AFTER_FAILURES);
    const address = parseHostPort(text);
    if (isKept || address === undefined || this.#ownAddresses().has(formatHostPort(address))) this.#diallers.get(text)?.stop();
    else this.#configuredDialler(text, address).schedule(0);
  }

  #configuredDialler(text: string, address: PeerAddress): PeerDialler {
    return this.#add(text, {
      addresses: () => [address],
      connected: (peer) => {
        this.#hubAt.set(text, peer.id);
        this.#addresses.addConfigured(peer.id, address);
        this.#connected(peer, address);
      },
    });
  }

  #dialler(id: HubId): PeerDialler {
    return this.#add(id, {
      addresses: () => this.#addresses.addressesOf(id),
      connected: (peer, address) => this.#connected(peer, address),
    });
  }

  #add(name: string, target: Pick<ConstructorParameters<typeof PeerDialler>[0], 'addresses' | 'connected'>): PeerDialler {
    const { clock, logger, engine } = this.#collaborators;
    const { addresses, connected } = target;
    const refused = () => {
      this.#refusals += 1;
    };
    const dialler =
      this.#diallers.get(name) ?? new PeerDialler({ clock, logger, engine, random: this.#random, name, addresses, connected, refused });
    this.#diallers.set(name, dialler);
    return dialler;
  }

  /** Stops diallers that are no longer needed. The dialler of a known hub is not deleted, so that it keeps its back-off. */
  #stopUnwanted(wanted: ReadonlySet<HubId>, known: ReadonlySet<HubId>): void {
    for (const [name, dialler] of this.#diallers) {
      const id = name as HubId;
      if (this.#peers.includes(name) || wanted.has(id) || this.#pruner.isRequested(id)) continue;
      dialler.stop();
      if (!known.has(id)) this.#diallers.delete(name);
    }
  }

  #peer(id: HubId): EnginePeer | undefined {
    return this.#collaborators.engine.peers().find((peer) => peer.id === id);
  }

  #dialDelayMs(id: HubId, delayMs: number): number {
    return this.#collaborators.engine.id < id ? 0 : delayMs;
  }

  #retryAll(): void {
    for (const dialler of this.#diallers.values()) dialler.retrySoon();
    this.#reviewLater(0);
  }

  #reviewLater(delayMs: number): void {
    this.#cancelReview?.();
    if (this.#stop.signal.aborted) return;
    this.#cancelReview = this.#collaborators.clock.after(delayMs, () => {
      this.#reviewLater(REVIEW_MS);
      this.review();
    });
  }

  #ownAddresses(): ReadonlySet<string> {
    const { engine, watch } = this.#collaborators;
    const ports = engine.listenAddresses().flatMap((text) => parseHostPort(text)?.port ?? []);
    const hosts = watch.interfaces.flatMap(({ addresses }) => addresses.map(({ host }) => host));
    const own = [...hosts, '127.0.0.1', '::1', 'localhost'].flatMap((host) => ports.map((port) => formatHostPort({ host, port })));
    return new Set([...engine.listenAddresses(), ...own]);
  }
}

const KEEP_REQUESTED_MS = 300_000;
const KEEP_SPARE_MS = 60_000;

/** Ends connections to hubs that are not neighbours. Such a connection was made while the mesh was small, or for a call. */
class ConnectionPruner {
  readonly #clock: Clock;
  readonly #engine: Pick<MeshEngine, 'id' | 'peers' | 'disconnect'>;
  readonly #requestedMs = new Map<HubId, number>();
  readonly #spareSinceMs = new Map<HubId, number>();

  constructor(clock: Clock, engine: Pick<MeshEngine, 'id' | 'peers' | 'disconnect'>) {
    this.#clock = clock;
    this.#engine = engine;
  }

  /** Keeps the connection to a hub for five minutes from now, because a call needed it. */
  noteRequest(id: HubId): void {
    this.#requestedMs.set(id, this.#clock.monotonic());
  }

  isRequested(id: HubId): boolean {
    return this.#clock.monotonic() - (this.#requestedMs.get(id) ?? Number.NEGATIVE_INFINITY) < KEEP_REQUESTED_MS;
  }

  /** Ends a connection that was not needed for a minute. Only the hub with the lower id ends it, as the hubs may know different members. */
  prune(wanted: ReadonlySet<HubId>, memberCount: number): void {
    const peers = this.#engine.peers().map(({ id }) => id);
    const spare = new Set(memberCount < FULL_MESH_MEMBERS ? [] : peers.filter((id) => !wanted.has(id) && !this.isRequested(id)));
    for (const id of this.#spareSinceMs.keys()) if (!spare.has(id)) this.#spareSinceMs.delete(id);
    for (const id of this.#requestedMs.keys()) if (!this.isRequested(id)) this.#requestedMs.delete(id);
    for (const id of spare) {
      const sinceMs = this.#spareSinceMs.get(id) ?? this.#clock.monotonic();
      this.#spareSinceMs.set(id, sinceMs);
      if (this.#engine.id < id && this.#clock.monotonic() - sinceMs >= KEEP_SPARE_MS) void this.#engine.disconnect(id);
    }
  }
}
