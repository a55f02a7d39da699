import { type Clock, orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { ArrivalCheck, EnginePeer } from './mesh-engine.ts';

/** If a hub dials again after this many milliseconds, its old connection counts as dead. Before, both may have dialled simultaneously. */
const SIMULTANEOUS_MS = 10_000;
/** Like `SIMULTANEOUS_MS`, but for an old connection over which sent bytes have not yet arrived at the other hub's machine. */
const FIRST_PACKETS_MS = 1_000;

/** A connection in the table. */
export interface TableConnection {
  readonly peer: EnginePeer;
  /** Returns whether the peer's machine has received everything that was sent, like `MeshStream.hasArrived`. */
  readonly hasArrived?: ArrivalCheck | undefined;
  /** Ends the connection at once. */
  drop(): void;
}

interface ConnectionSlot<Connection> {
  readonly takenMs: number;
  readonly connection?: Connection;
}

type PeerListener = (peer: EnginePeer) => void;

/** Holds the connections of an engine: one per hub, and a maximum in total. Calls listeners once when a hub connects or disconnects. */
export class PeerTable<Connection extends TableConnection> {
  readonly #clock: Clock;
  readonly #maxConnections: number;
  readonly #slots = new Map<HubId, ConnectionSlot<Connection>>();
  readonly #upListeners = new Set<PeerListener>();
  readonly #downListeners = new Set<PeerListener>();

  constructor(clock: Clock, maxConnections: number) {
    this.#clock = clock;
    this.#maxConnections = maxConnections;
  }

  get(id: HubId): Connection | undefined {
    return this.#slots.get(id)?.connection;
  }

  connections(): Connection[] {
    return [...this.#slots.values()].flatMap(({ connection }) => connection ?? []);
  }

  peers(): EnginePeer[] {
    return this.connections().map(({ peer }) => peer);
  }

  /** Returns whether a connection to this hub would exceed the limit. A hub that already has a slot needs no second one. */
  isFullFor(id: HubId): boolean {
    return !this.#slots.has(id) && this.#slots.size >= this.#maxConnections;
  }

  /**
   * Claims the slot of the hub `id` for a new connection. If the slot has an old or blocked connection, that connection counts as dead and
   * is replaced, because a hub dials again only if its connection does not work. If the slot has any other connection, returns false.
   */
  claim(id: HubId): boolean {
    const held = this.#slots.get(id);
    if (held && !this.#isDead(held)) return false;
    this.takeOver(id);
    return true;
  }

  /** Claims the slot of the hub `id` even if another connection has it, because that hub has chosen the new connection. */
  takeOver(id: HubId): void {
    const former = this.get(id);
    if (former) this.closed(former);
    this.#slots.set(id, { takenMs: this.#clock.monotonic() });
    former?.drop();
  }

  /** Releases the slot if its connection has not opened. */
  release(id: HubId): void {
    if (!this.get(id)) this.#slots.delete(id);
  }

  opened(connection: Connection): void {
    const { peer } = connection;
    this.#slots.set(peer.id, { takenMs: this.#clock.monotonic(), connection });
    for (const listener of [...this.#upListeners]) listener(peer);
  }

  /** Handles a closed connection. Does nothing if another connection has already taken the slot. */
  closed(connection: Connection): void {
    const { peer } = connection;
    if (this.get(peer.id) !== connection) return;
    this.#slots.delete(peer.id);
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

  /** If the error is a CONFLICT with another connection to the same hub, waits for that connection. Throws any other error again. */
  async untilOtherUp(error: unknown, signal: AbortSignal): Promise<EnginePeer> {
    const { hub } = error instanceof AtmoError && error.code === 'CONFLICT' ? error.details : {};
    if (typeof hub !== 'string') throw error;
    return await this.untilUp(hub as HubId, signal);
  }

  /** Resolves with the peer as soon as it is connected. Rejects with the signal's reason if the signal aborts. */
  async untilUp(id: HubId, signal: AbortSignal): Promise<EnginePeer> {
    const connected = this.get(id);
    if (connected) return connected.peer;
    const { promise, resolve } = Promise.withResolvers<EnginePeer>();
    const stop = this.onUp((peer) => peer.id === id && resolve(peer));
    return await orAborted(promise, signal).finally(stop);
  }

  #isDead({ takenMs, connection }: ConnectionSlot<Connection>): boolean {
    const ageMs = this.#clock.monotonic() - takenMs;
    return ageMs >= SIMULTANEOUS_MS || (ageMs >= FIRST_PACKETS_MS && connection?.hasArrived?.() === false);
  }
}
