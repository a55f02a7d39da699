import { type Clock, orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { ArrivalCheck, EnginePeer } from './mesh-engine.ts';

/** Longer than two hubs that dial each other at the same moment can take: an older connection is not the other half of such a pair. */
const SIMULTANEOUS_MS = 10_000;
/** What a connection sends at its start is on its way for so long at most where anything gets through. */
const ON_ITS_WAY_MS = 1_000;

/** A connection as the table needs it. */
export interface TableConnection {
  readonly peer: EnginePeer;
  /** As `MeshStream.hasArrived`. */
  readonly hasArrived?: ArrivalCheck | undefined;
  /** Ends it at once. */
  drop(): void;
}

interface ConnectionSlot<Connection> {
  readonly takenMs: number;
  readonly connection?: Connection;
}

type PeerListener = (peer: EnginePeer) => void;

/** The connections of one engine: one per hub, bounded in number. Tells each hub's coming and going once. */
export class PeerTable<Connection extends TableConnection> {
  readonly #clock: Clock;
  readonly #maxConnections: number;
  readonly #seats = new Map<HubId, ConnectionSlot<Connection>>();
  readonly #upListeners = new Set<PeerListener>();
  readonly #downListeners = new Set<PeerListener>();

  constructor(clock: Clock, maxConnections: number) {
    this.#clock = clock;
    this.#maxConnections = maxConnections;
  }

  get(id: HubId): Connection | undefined {
    return this.#seats.get(id)?.connection;
  }

  connections(): Connection[] {
    return [...this.#seats.values()].flatMap(({ connection }) => connection ?? []);
  }

  peers(): EnginePeer[] {
    return this.connections().map(({ peer }) => peer);
  }

  /** True when a connection to one more hub would be too many; a hub that is here already takes no second seat. */
  isFullFor(id: HubId): boolean {
    return !this.#seats.has(id) && this.#seats.size >= this.#maxConnections;
  }

  /**
   * Takes the hub's seat for a connection that is about to open. False when another connection has it; one that is old
   * enough, or over which nothing gets through, is dead, since the hub would not have dialled otherwise, and gives way.
   */
  claim(id: HubId): boolean {
    const held = this.#seats.get(id);
    if (held && !this.#isDead(held)) return false;
    this.takeOver(id);
    return true;
  }

  /** Takes the hub's seat from whatever has it: the other hub decided that this connection is the one. */
  takeOver(id: HubId): void {
    const former = this.get(id);
    if (former) this.closed(former);
    this.#seats.set(id, { takenMs: this.#clock.monotonic() });
    former?.drop();
  }

  /** Gives back a seat that was taken for a connection that did not open after all. */
  release(id: HubId): void {
    if (!this.get(id)) this.#seats.delete(id);
  }

  opened(connection: Connection): void {
    const { peer } = connection;
    this.#seats.set(peer.id, { takenMs: this.#clock.monotonic(), connection });
    for (const listener of [...this.#upListeners]) listener(peer);
  }

  /** Does nothing for a connection that has lost its seat before. */
  closed(connection: Connection): void {
    const { peer } = connection;
    if (this.get(peer.id) !== connection) return;
    this.#seats.delete(peer.id);
    for (const listener of [...this.#downListeners]) listener(peer);
  }

  onUp(listener: PeerListener): () => void {
    this.#upListeners.add(listener);
    return () => this.#upListeners.delete(listener);
  }

  onDown(listener: PeerListener): () => void {
    this.#downListeners.add(listener);
    return () => this.#downListeners.delete(listener);
  }

  /** After a CONFLICT, which says that the other connection to the hub is the one, waits for that; throws any other error. */
  async untilOtherUp(error: unknown, signal: AbortSignal): Promise<EnginePeer> {
    const { hub } = error instanceof AtmoError && error.code === 'CONFLICT' ? error.details : {};
    if (typeof hub !== 'string') throw error;
    return await this.untilUp(hub as HubId, signal);
  }

  /** Resolves with the hub's connection as soon as there is one; rejects with the signal's reason. */
  async untilUp(id: HubId, signal: AbortSignal): Promise<EnginePeer> {
    const here = this.get(id);
    if (here) return here.peer;
    const { promise, resolve } = Promise.withResolvers<EnginePeer>();
    const stop = this.onUp((peer) => peer.id === id && resolve(peer));
    return await orAborted(promise, signal).finally(stop);
  }

  #isDead({ takenMs, connection }: ConnectionSlot<Connection>): boolean {
    const ageMs = this.#clock.monotonic() - takenMs;
    return ageMs >= SIMULTANEOUS_MS || (ageMs >= ON_ITS_WAY_MS && connection?.hasArrived?.() === false);
  }
}
