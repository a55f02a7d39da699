import type { KeyObject } from 'node:crypto';
import type { Connection, Stream } from '@libp2p/interface';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { RefusalCounter } from './admission.ts';
import { ConnectionAttempts, TimeLimit } from './connection-attempt.ts';
import { LostAddressWatch, SilentGossipWatch } from './dead-connections.ts';
import { Libp2pGossip } from './gossipsub.ts';
import { formatHostPort } from './host-port.ts';
import { Libp2pConnection, Libp2pStream } from './libp2p-connection.ts';
import { hubIdOfKey, hubOf, toLibp2pKey } from './libp2p-key.ts';
import { createNode, type Libp2pNode } from './libp2p-node.ts';
import { Libp2pSockets } from './libp2p-sockets.ts';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionGate,
  DEFAULT_MAX_CONNECTIONS,
  type EnginePeer,
  type GossipVerdict,
  MAX_INBOUND_STREAMS,
  type MeshEngine,
  type MeshStream,
  OPEN_STREAM_TIMEOUT_MS,
  type PeerAddress,
} from './mesh-engine.ts';
import { PeerTable } from './peer-table.ts';
import { InboundLimiter, type InboundLimits, type ListenAddress, TcpListener } from './tcp-listener.ts';

const DEFAULT_INBOUND_LIMITS: InboundLimits = { perSourcePerSecond: 20, pending: 32 };
/** How long libp2p keeps what it noted of a hub that has left, milliseconds: its parts still look there at the end of a connection. */
const FORGET_PEER_MS = 30_000;
/** Streams beyond our own limit that libp2p still hands over, so that they can be counted. */
const STREAMS_TO_REFUSE = 16;

/** What a libp2p engine is made of. */
export interface Libp2pEngineOptions {
  /** Private Ed25519 key of the hub. */
  readonly key: KeyObject;
  readonly gate: ConnectionGate;
  readonly listen: ListenAddress;
  /** 32 bytes that every member has too. */
  readonly preSharedKey?: Uint8Array;
  readonly maxConnections?: number;
  readonly inboundLimits?: InboundLimits;
  readonly clock?: Clock;
}

/** What exists between start and dispose. */
interface Running {
  readonly node: Libp2pNode;
  readonly door: TcpListener;
  readonly sockets: Libp2pSockets;
}

/**
 * The mesh over TCP: Noise, the gate, Yamux, gossipsub. Import it when a mesh is opened, not before: libp2p costs 24 MB
 * (bundled; 44 from source).
 */
export class Libp2pEngine implements MeshEngine {
  readonly id: HubId;
  readonly #parts: Libp2pEngineOptions;
  readonly #clock: Clock;
  readonly #table: PeerTable<Libp2pConnection>;
  readonly #refusals = new RefusalCounter();
  readonly #gossip: Libp2pGossip;
  readonly #attempts = new ConnectionAttempts();
  readonly #handlers = new Map<string, (stream: MeshStream) => void>();
  readonly #stopped = new AbortController();
  readonly #watch: SilentGossipWatch<Libp2pConnection>;
  readonly #stranded: LostAddressWatch<Libp2pConnection>;
  #running: Running | undefined;

  constructor(parts: Libp2pEngineOptions) {
    this.id = hubIdOfKey(parts.key);
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
    this.#table = new PeerTable(this.#clock, parts.maxConnections ?? DEFAULT_MAX_CONNECTIONS);
    this.#gossip = new Libp2pGossip(this.id, this.#refusals);
    this.#watch = new SilentGossipWatch(this.#clock, {
      connections: () => this.#table.connections(),
      receivesGossip: ({ remotePeer }) => this.#gossip.receivesGossip(remotePeer),
      drop: (connection) => this.#endDeaf(connection),
    });
    this.#stranded = new LostAddressWatch({
      clock: this.#clock,
      connections: () => this.#table.connections(),
      drop: (connection) => connection.drop(),
    });
  }

  /** CONFLICT or CONFIG_INVALID when it cannot listen. */
  async start(): Promise<void> {
    const node = await createNode({
      privateKey: toLibp2pKey(this.#parts.key),
      attempts: this.#attempts,
      desk: { self: this.id, seats: this.#table, refusals: this.#refusals, clock: this.#clock },
      preSharedKey: this.#parts.preSharedKey,
    });
    node.addEventListener('connection:open', ({ detail }) => this.#opened(detail));
    node.addEventListener('connection:close', ({ detail }) => this.#closed(detail));
    await node.start();
    this.#gossip.join(node.services.pubsub);
    for (const protocol of this.#handlers.keys()) await this.#register(node, protocol);
    await this.#listen(node);
    this.#watch.start();
    this.#stranded.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    this.#watch[Symbol.dispose]();
    this.#stranded[Symbol.dispose]();
    this.#stopped.abort(new AtmoError('SHUTTING_DOWN', 'The mesh engine of this hub is stopping'));
    await Promise.all(this.#table.connections().map((connection) => connection.close()));
    await running.door[Symbol.asyncDispose]();
    await running.node.stop();
  }

  listenAddresses(): readonly string[] {
    return this.#running?.door.addresses() ?? [];
  }

  peers(): readonly EnginePeer[] {
    return this.#table.peers();
  }

  async connect(address: PeerAddress, options: { readonly signal: AbortSignal; readonly gate?: ConnectionGate }): Promise<EnginePeer> {
    const { sockets } = this.#requireRunning();
    const known = address.expect === undefined ? undefined : this.#table.get(address.expect);
    if (known) return known.peer;
    using limit = this.#timeLimit(options.signal, CONNECT_TIMEOUT_MS, `No hub answers at ${formatHostPort(address)}`);
    return await this.#dial(sockets, address, { signal: limit.signal, gate: options.gate ?? this.#parts.gate });
  }

  async disconnect(id: HubId): Promise<void> {
    await this.#table.get(id)?.close();
  }

  async publish(message: Uint8Array): Promise<void> {
    this.#requireRunning();
    await this.#gossip.publish(message);
  }

  onGossip(validate: (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>): void {
    this.#gossip.onGossip(validate);
  }

  async openStream(id: HubId, protocol: string, options: { readonly signal: AbortSignal }): Promise<MeshStream> {
    this.#requireRunning();
    const connection = this.#table.get(id);
    if (!connection) throw new AtmoError('NODE_UNAVAILABLE', `There is no connection to ${id}`);
    using limit = this.#timeLimit(options.signal, OPEN_STREAM_TIMEOUT_MS, `${id} does not take a stream of ${protocol}`);
    return await connection.openStream(protocol, this.#refusals, limit.signal);
  }

  handle(protocol: string, handler: (stream: MeshStream) => void): void {
    const isNew = !this.#handlers.has(protocol);
    this.#handlers.set(protocol, handler);
    if (isNew && this.#running) void this.#register(this.#running.node, protocol);
  }

  onPeerUp(listener: (peer: EnginePeer) => void): () => void {
    return this.#table.onUp(listener);
  }

  onPeerDown(listener: (peer: EnginePeer) => void): () => void {
    return this.#table.onDown(listener);
  }

  refusals(): Readonly<Record<string, number>> {
    return this.#refusals.totals();
  }

  async #listen(node: Libp2pNode): Promise<void> {
    const sockets = new Libp2pSockets({
      upgrader: node.services.sockets.upgrader,
      attempts: this.#attempts,
      limiter: new InboundLimiter(this.#clock, this.#parts.inboundLimits ?? DEFAULT_INBOUND_LIMITS),
      refusals: this.#refusals,
      gate: this.#parts.gate,
      signal: this.#stopped.signal,
    });
    const door = new TcpListener((socket) => void sockets.accept(socket));
    try {
      await door.open(this.#parts.listen);
    } catch (error) {
      await node.stop();
      throw error;
    }
    this.#running = { node, door, sockets };
  }

  async #dial(sockets: Libp2pSockets, address: PeerAddress, how: { signal: AbortSignal; gate: ConnectionGate }): Promise<EnginePeer> {
    try {
      const up = this.#table.get(await sockets.dial(address, how));
      if (up) return up.peer;
      throw new AtmoError('NODE_UNAVAILABLE', `${formatHostPort(address)} closed the connection as soon as it was open`);
    } catch (error) {
      return await this.#table.untilOtherUp(error, how.signal);
    }
  }

  #opened(connection: Connection): void {
    const passed = this.#attempts.takePassed(hubOf(connection.remotePeer)?.id);
    // What passed the gate while the engine stopped ends here.
    if (passed && !this.#stopped.signal.aborted) this.#table.opened(new Libp2pConnection(connection, passed));
    else connection.abort(new AtmoError('INTERNAL_ERROR', 'A connection opened without the gate or after the end'));
  }

  #closed(connection: Connection): void {
    const closed = this.#table.connections().find((other) => other.is(connection));
    if (closed) this.#table.closed(closed);
    this.#clock.after(FORGET_PEER_MS, () => this.#forget(connection));
  }

  #endDeaf(connection: Libp2pConnection): void {
    this.#refusals.count('gossip_broken');
    connection.drop();
  }

  /** libp2p would keep about 5 kB of every hub that it ever met. */
  #forget(connection: Connection): void {
    const node = this.#running?.node;
    if (node && node.getConnections(connection.remotePeer).length === 0) void node.peerStore.delete(connection.remotePeer);
  }

  async #register(node: Libp2pNode, protocol: string): Promise<void> {
    const accept = (stream: Stream, connection: Connection) => this.#acceptStream(protocol, stream, connection);
    await node.handle(protocol, accept, { maxInboundStreams: MAX_INBOUND_STREAMS + STREAMS_TO_REFUSE });
  }

  #acceptStream(protocol: string, stream: Stream, connection: Connection): void {
    const route = this.#table.connections().find((other) => other.is(connection));
    const open = connection.streams.filter((other) => other.protocol === protocol && other.direction === 'inbound').length;
    const handler = this.#handlers.get(protocol);
    if (route && handler && open <= MAX_INBOUND_STREAMS) handler(new Libp2pStream(stream, route, this.#refusals));
    else {
      this.#refusals.count('too_many_streams');
      stream.abort(new AtmoError('RESOURCE_EXCEEDED', `Too many streams of ${protocol}`));
    }
  }

  #timeLimit(signal: AbortSignal, limitMs: number, problem: string): TimeLimit {
    return new TimeLimit({ clock: this.#clock, limitMs, problem, signal, stopped: this.#stopped.signal });
  }

  #requireRunning(): Running {
    if (this.#running) return this.#running;
    throw new AtmoError('SHUTTING_DOWN', 'The mesh engine of this hub has not started or is stopping');
  }
}
