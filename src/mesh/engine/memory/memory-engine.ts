import { AtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import { admit, type GateTransport, MAX_GATE_TRANSPORT_BYTES } from '../admission.ts';
import { CONNECT_TIMEOUT_MS, DEFAULT_MAX_CONNECTIONS, OPEN_STREAM_TIMEOUT_MS } from '../engine-limits.ts';
import { formatHostPort } from '../host-port.ts';
import type { GatePeer, MeshEngine, MeshStream, PeerAddress } from '../mesh-engine.ts';
import { type ConnectionGate, type EnginePeer, type GossipVerdict, MAX_GOSSIP_BYTES } from '../mesh-engine.ts';
import { PeerTable } from '../peer-table.ts';
import { RefusalCounter } from '../refusal-counter.ts';
import { TimeLimit } from '../time-limit.ts';
import { MemoryConnection } from './memory-connection.ts';
import type { MemoryNetwork } from './memory-network.ts';
import type { PipeEnd } from './memory-pipe.ts';
import { SeenMessages } from './seen-messages.ts';

/** What an in-memory engine is made of. */
export interface MemoryEngineParts {
  readonly network: MemoryNetwork;
  /** Where it listens in the network, `host:port`. */
  readonly address: string;
  readonly self: { readonly id: HubId; readonly publicKey: string };
  readonly gate: ConnectionGate;
  readonly maxConnections?: number;
}

type Validator = (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>;

/** The mesh inside one process: gate, streams and gossip over a `MemoryNetwork`, on its clock. */
export class MemoryEngine implements MeshEngine {
  readonly id: HubId;
  readonly #parts: MemoryEngineParts;
  readonly #table: PeerTable<MemoryConnection>;
  readonly #refusals = new RefusalCounter();
  readonly #seen: SeenMessages;
  readonly #handlers = new Map<string, (stream: MeshStream) => void>();
  readonly #stopped = new AbortController();
  #stopListening: (() => void) | undefined;
  #validate: Validator | undefined;

  constructor(parts: MemoryEngineParts) {
    const { clock } = parts.network;
    this.id = parts.self.id;
    this.#parts = parts;
    this.#table = new PeerTable(clock, parts.maxConnections ?? DEFAULT_MAX_CONNECTIONS);
    this.#seen = new SeenMessages(clock);
  }

  async start(): Promise<void> {
    const accept = (end: PipeEnd) => void this.#accept(end);
    this.#stopListening = this.#parts.network.listen(this.#parts.address, { accept });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#stopped.abort(new AtmoError('SHUTTING_DOWN', 'The mesh engine of this hub is stopping'));
    for (const connection of this.#table.connections()) connection.drop();
  }

  listenAddresses(): readonly string[] {
    return this.#stopListening ? [this.#parts.address] : [];
  }

  peers(): readonly EnginePeer[] {
    return this.#table.peers();
  }

  async connect(address: PeerAddress, options: { readonly signal: AbortSignal; readonly gate?: ConnectionGate }): Promise<EnginePeer> {
    this.#requireRunning();
    const known = address.expect === undefined ? undefined : this.#table.get(address.expect);
    if (known) return known.peer;
    using limit = this.#timeLimit(options.signal, CONNECT_TIMEOUT_MS, `Nobody answers at ${formatHostPort(address)}`);
    return await this.#dial(address, options.gate ?? this.#parts.gate, limit.signal);
  }

  async disconnect(id: HubId): Promise<void> {
    this.#table.get(id)?.drop();
  }

  async publish(message: Uint8Array): Promise<void> {
    this.#requireRunning();
    if (message.length > MAX_GOSSIP_BYTES)
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A gossip message of ${message.length} bytes is longer than ${MAX_GOSSIP_BYTES}`);
    const verdict = await (this.#validate?.(message, this.id) ?? 'accept');
    if (verdict !== 'accept') return this.#refusals.count('gossip_own_refused');
    if (this.#seen.add(message)) this.#tellOn(message);
  }

  onGossip(validate: Validator): void {
    this.#validate = validate;
  }

  async openStream(id: HubId, protocol: string, options: { readonly signal: AbortSignal }): Promise<MeshStream> {
    this.#requireRunning();
    const connection = this.#table.get(id);
    if (!connection) throw new AtmoError('NODE_UNAVAILABLE', `There is no connection to ${id}`);
    using limit = this.#timeLimit(options.signal, OPEN_STREAM_TIMEOUT_MS, `${id} does not answer`);
    return await connection.openStream(protocol, limit.signal);
  }

  handle(protocol: string, handler: (stream: MeshStream) => void): void {
    this.#handlers.set(protocol, handler);
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

  async #dial(address: PeerAddress, gate: ConnectionGate, signal: AbortSignal): Promise<EnginePeer> {
    const end = await this.#parts.network.dial(this.#parts.address, formatHostPort(address), signal);
    try {
      const peer = await this.#greet(end, 'outbound', signal);
      await this.#admit(end, { peer, gate, expect: address.expect, signal });
      return peer;
    } catch (error) {
      return await this.#table.untilOtherUp(error, signal);
    }
  }

  async #accept(end: PipeEnd): Promise<void> {
    try {
      const peer = await this.#greet(end, 'inbound', this.#stopped.signal);
      await this.#admit(end, { peer, gate: this.#parts.gate, signal: this.#stopped.signal });
    } catch {
      // Counted where it was refused; the peer learns it by the closed connection.
    }
  }

  /** Stands for the handshake of a real transport: each side learns the other's key. */
  async #greet(end: PipeEnd, direction: GatePeer['direction'], signal: AbortSignal): Promise<GatePeer> {
    const { id, publicKey } = this.#parts.self;
    end.send({ type: 'hello', id, publicKey });
    const hello = await end.take(signal);
    if (hello.type === 'hello') return { id: hello.id as HubId, publicKey: hello.publicKey, direction, address: end.remote };
    this.#refusals.count('handshake_failed');
    end.close();
    throw new AtmoError('NODE_UNAVAILABLE', `${end.remote} does not speak as a hub`);
  }

  async #admit(end: PipeEnd, applicant: Omit<Parameters<typeof admit>[1], 'transport'>): Promise<void> {
    const desk = { self: this.id, seats: this.#table, refusals: this.#refusals, clock: this.#parts.network.clock };
    try {
      await admit(desk, { ...applicant, transport: gateTransport(end) });
      this.#stopped.signal.throwIfAborted();
    } catch (error) {
      end.close();
      throw error;
    }
    this.#open(end, applicant.peer);
  }

  #open(end: PipeEnd, peer: EnginePeer): void {
    const connection = new MemoryConnection({
      end,
      peer,
      refusals: this.#refusals,
      handler: (protocol) => this.#handlers.get(protocol),
      gossip: (message, from) => void this.#hear(message, from),
      closed: (closed) => this.#table.closed(closed),
    });
    this.#table.opened(connection);
    connection.run();
  }

  async #hear(message: Uint8Array, from: MemoryConnection): Promise<void> {
    if (message.length > MAX_GOSSIP_BYTES) return this.#refusals.count('gossip_too_long');
    if (!this.#seen.add(message)) return;
    const verdict = await (this.#validate?.(message, from.peer.id) ?? 'ignore');
    if (verdict === 'accept') this.#tellOn(message, from);
    else if (verdict === 'reject') this.#refusals.count('gossip_rejected');
  }

  #tellOn(message: Uint8Array, from?: MemoryConnection): void {
    for (const connection of this.#table.connections()) if (connection !== from) connection.gossip(message);
  }

  #timeLimit(signal: AbortSignal, limitMs: number, problem: string): TimeLimit {
    return new TimeLimit({ clock: this.#parts.network.clock, limitMs, problem, signal, stopped: this.#stopped.signal });
  }

  #requireRunning(): void {
    if (!this.#stopListening) throw new AtmoError('SHUTTING_DOWN', 'The mesh engine of this hub has not started or is stopping');
  }
}

function gateTransport(end: PipeEnd): GateTransport {
  return {
    write: async (bytes) => end.send({ type: 'gate', bytes }),
    read: async (signal) => {
      const message = await end.take(signal);
      if (message.type !== 'gate') throw new AtmoError('PERMISSION_DENIED', `${end.remote} does not keep to the protocol of the gate`);
      if (message.bytes.length <= MAX_GATE_TRANSPORT_BYTES) return message.bytes;
      throw new AtmoError('PAYLOAD_TOO_LARGE', `${end.remote} sent a gate message of ${message.bytes.length} bytes`);
    },
  };
}
