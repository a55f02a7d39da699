import type { KeyObject } from 'node:crypto';
import type { Connection, Stream } from '@libp2p/interface';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { ConnectionAttempts, RefusalCounter, TimeLimit } from './admission.ts';
import { LostAddressWatch, SilentGossipWatch } from './dead-connections.ts';
import { Libp2pGossip } from './gossipsub.ts';
import { Libp2pConnection, Libp2pStream } from './libp2p-connection.ts';
import { hubIdOfKey, hubOf, toLibp2pKey } from './libp2p-key.ts';
import { createNode, type Libp2pNode } from './libp2p-node.ts';
import { Libp2pSockets } from './libp2p-sockets.ts';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionGate,
  DEFAULT_MAX_CONNECTIONS,
  type EnginePeer,
  formatHostPort,
  type GossipVerdict,
  MAX_INBOUND_STREAMS,
  type MeshEngine,
  type MeshStream,
  OPEN_STREAM_TIMEOUT_MS,
  type PeerAddress,
} from './mesh-engine.ts';
import { PeerTable } from './peer-table.ts';
import { InboundLimiter, type InboundLimits, type ListenAddress, TcpListener } from './tcp-connection.ts';

const DEFAULT_INBOUND_LIMITS: InboundLimits = { perSourcePerSecond: 20, pending: 32 };
/** libp2p keeps the record of a disconnected hub for this many milliseconds, because it still reads the record when a connection ends. */
const FORGET_PEER_MS = 30_000;
/** libp2p passes on this many streams above the limit, so that the engine can refuse and count them. */
const STREAMS_TO_REFUSE = 16;

/** Options of a libp2p engine. */
export interface Libp2pEngineOptions {
  /** Private Ed25519 key of the hub. */
  readonly key: KeyObject;
  readonly gate: ConnectionGate;
  readonly listen: ListenAddress;
  /** Secret of 32 bytes that all members share. */
  readonly preSharedKey?: Uint8Array;
  readonly maxConnections?: number;
  /** Site of the hub, whose gossip reaches only hubs of this site. */
  readonly site?: string | undefined;
  readonly inboundLimits?: InboundLimits;
  readonly clock?: Clock;
}

/** The parts of the engine that exist only while it runs. */
interface Running {
  readonly node: Libp2pNode;
  readonly listener: TcpListener;
  readonly sockets: Libp2pSockets;
}

/** Mesh engine on TCP with Noise, the gate, Yamux and gossipsub. Import it only when a mesh opens: libp2p needs 24 MB of memory. */
export class Libp2pEngine implements MeshEngine {
  readonly id: HubId;
  readonly #options: Libp2pEngineOptions;
  readonly #clock: Clock;
  readonly #table: PeerTable<Libp2pConnection>;
  readonly #refusals = new RefusalCounter();
  readonly #gossip: Libp2pGossip;
  readonly #attempts = new ConnectionAttempts();
  readonly #handlers = new Map<string, (stream: MeshStream) => void>();
  readonly #stopped = new AbortController();
  readonly #gossipWatch: SilentGossipWatch<Libp2pConnection>;
  readonly #addressWatch: LostAddressWatch<Libp2pConnection>;
  #running: Running | undefined;

  constructor(options: Libp2pEngineOptions) {
    this.id = hubIdOfKey(options.key);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#table = new PeerTable(this.#clock, options.maxConnections ?? DEFAULT_MAX_CONNECTIONS);
    this.#gossip = new Libp2pGossip(this.id, this.#refusals, options.site);
    this.#gossipWatch = new SilentGossipWatch(this.#clock, {
      connections: () => this.#table.connections(),
      receivesGossip: ({ remotePeer }) => this.#gossip.receivesGossip(remotePeer),
      drop: (connection) => this.#endSilent(connection),
    });
    this.#addressWatch = new LostAddressWatch({
      clock: this.#clock,
      connections: () => this.#table.connections(),
      drop: (connection) => connection.drop(),
    });
  }

  /** Starts to listen. Rejects with CONFLICT if the port is taken, and CONFIG_INVALID if the address or port cannot be used. */
  async start(): Promise<void> {
    const node = await createNode({
      privateKey: toLibp2pKey(this.#options.key),
      attempts: this.#attempts,
      policy: { self: this.id, slots: this.#table, refusals: this.#refusals, clock: this.#clock },
      preSharedKey: this.#options.preSharedKey,
      site: this.#options.site,
    });
    node.addEventListener('connection:open', ({ detail }) => this.#opened(detail));
    node.addEventListener('connection:close', ({ detail }) => this.#closed(detail));
    await node.start();
    this.#gossip.join(node.services.pubsub);
    for (const protocol of this.#handlers.keys()) await this.#register(node, protocol);
    await this.#listen(node);
    this.#gossipWatch.start();
    this.#addressWatch.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    this.#gossipWatch[Symbol.dispose]();
    this.#addressWatch[Symbol.dispose]();
    this.#stopped.abort(new AtmoError('SHUTTING_DOWN', 'The mesh engine of this hub is stopping'));
    await Promise.all(this.#table.connections().map((connection) => connection.close()));
    await running.listener[Symbol.asyncDispose]();
    await running.node.stop();
  }

  listenAddresses(): readonly string[] {
    return this.#running?.listener.addresses() ?? [];
  }

  peers(): readonly EnginePeer[] {
    return this.#table.peers();
  }

  async connect(address: PeerAddress, options: { readonly signal: AbortSignal; readonly gate?: ConnectionGate }): Promise<EnginePeer> {
    const { sockets } = this.#requireRunning();
    const known = address.expect === undefined ? undefined : this.#table.get(address.expect);
    if (known) return known.peer;
    using limit = this.#timeLimit(options.signal, CONNECT_TIMEOUT_MS, `No hub answers at ${formatHostPort(address)}`);
    return await this.#dial(sockets, address, { signal: limit.signal, gate: options.gate ?? this.#options.gate });
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
    using limit = this.#timeLimit(options.signal, OPEN_STREAM_TIMEOUT_MS, `${id} does not accept a stream of ${protocol}`);
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
    return this.#refusals.counts();
  }

  async #listen(node: Libp2pNode): Promise<void> {
    const sockets = new Libp2pSockets({
      upgrader: node.services.sockets.upgrader,
      attempts: this.#attempts,
      limiter: new InboundLimiter(this.#clock, this.#options.inboundLimits ?? DEFAULT_INBOUND_LIMITS),
      refusals: this.#refusals,
      gate: this.#options.gate,
      signal: this.#stopped.signal,
    });
    const listener = new TcpListener((socket) => void sockets.accept(socket));
    try {
      await listener.open(this.#options.listen);
    } catch (error) {
      await node.stop();
      throw error;
    }
    this.#running = { node, listener, sockets };
  }

  async #dial(sockets: Libp2pSockets, address: PeerAddress, options: { signal: AbortSignal; gate: ConnectionGate }): Promise<EnginePeer> {
    try {
      const up = this.#table.get(await sockets.dial(address, options));
      if (up) return up.peer;
      throw new AtmoError('NODE_UNAVAILABLE', `${formatHostPort(address)} closed the connection as soon as it was open`);
    } catch (error) {
      return await this.#table.untilOtherUp(error, options.signal);
    }
  }

  #opened(connection: Connection): void {
    const passed = this.#attempts.takePassed(hubOf(connection.remotePeer)?.id);
    // A connection may pass the gate while the engine is stopping. It is then closed.
    if (passed && !this.#stopped.signal.aborted) this.#table.opened(new Libp2pConnection(connection, passed));
    else connection.abort(new AtmoError('INTERNAL_ERROR', 'A connection opened without the gate or after the end'));
  }

  #closed(connection: Connection): void {
    const closed = this.#table.connections().find((other) => other.is(connection));
    if (closed) this.#table.closed(closed);
    this.#clock.after(FORGET_PEER_MS, () => this.#forget(connection));
  }

  #endSilent(connection: Libp2pConnection): void {
    this.#refusals.count('gossip_broken');
    connection.drop();
  }

  /** Deletes the peer from libp2p's store, unless it is connected again. The store would keep about 5 kB for each hub forever. */
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
