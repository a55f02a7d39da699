import { createHash } from 'node:crypto';
import type { Clock } from '../../src/core/clock.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { HubId } from '../../src/core/ids.ts';
import { admit, type GateTransport, MAX_GATE_TRANSPORT_BYTES, RefusalCounter, TimeLimit } from '../../src/mesh/transport/admission.ts';
import {
  type ArrivalCheck,
  CONNECT_TIMEOUT_MS,
  type ConnectionGate,
  DEFAULT_MAX_CONNECTIONS,
  type EnginePeer,
  formatHostPort,
  type GatePeer,
  type GossipVerdict,
  MAX_FRAME_BYTES,
  MAX_GOSSIP_BYTES,
  MAX_INBOUND_STREAMS,
  MAX_SEND_QUEUE_BYTES,
  type MeshEngine,
  type MeshStream,
  OPEN_STREAM_TIMEOUT_MS,
  type PeerAddress,
  SEND_WINDOW_BYTES,
} from '../../src/mesh/transport/mesh-engine.ts';
import { PeerTable } from '../../src/mesh/transport/peer-table.ts';
import type { MemoryNetwork, PipeEnd, WireMessage } from './memory-network.ts';

/** What an in-memory engine is made of. */
export interface MemoryEngineOptions {
  readonly network: MemoryNetwork;
  /** Where it listens in the network, `host:port`. */
  readonly address: string;
  readonly self: { readonly id: HubId; readonly publicKey: string };
  readonly gate: ConnectionGate;
  readonly maxConnections?: number;
  /** Topic of its gossip, as gossipsub has it; gossip goes only to engines of the same topic. */
  readonly topic?: string | undefined;
}

type Validator = (message: Uint8Array, from: HubId) => GossipVerdict | Promise<GossipVerdict>;

/** The mesh inside one process: gate, streams and gossip over a `MemoryNetwork`, on its clock. */
export class MemoryEngine implements MeshEngine {
  readonly id: HubId;
  readonly #parts: MemoryEngineOptions;
  readonly #table: PeerTable<MemoryConnection>;
  readonly #refusals = new RefusalCounter();
  readonly #seen: SeenMessages;
  readonly #handlers = new Map<string, (stream: MeshStream) => void>();
  readonly #topics = new Map<HubId, string | undefined>();
  readonly #stopped = new AbortController();
  /** Set while the machine has lost its power: its gossip is lost. */
  isSilent = false;
  #stopListening: (() => void) | undefined;
  #validate: Validator | undefined;

  constructor(parts: MemoryEngineOptions) {
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

  /** Returns the connected engines that receive this one's gossip. */
  listeners(): readonly EnginePeer[] {
    return this.peers().filter(({ id }) => this.#topics.get(id) === this.#parts.topic);
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
    return this.#refusals.counts();
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
    const { topic } = this.#parts;
    end.send({ type: 'hello', id, publicKey, ...(topic !== undefined && { topic }) });
    const hello = await end.take(signal);
    if (hello.type === 'hello') this.#topics.set(hello.id as HubId, hello.topic);
    if (hello.type === 'hello') return { id: hello.id as HubId, publicKey: hello.publicKey, direction, address: end.remote };
    this.#refusals.count('handshake_failed');
    end.close();
    throw new AtmoError('NODE_UNAVAILABLE', `${end.remote} does not speak as a hub`);
  }

  async #admit(end: PipeEnd, applicant: Omit<Parameters<typeof admit>[1], 'transport'>): Promise<void> {
    const policy = { self: this.id, slots: this.#table, refusals: this.#refusals, clock: this.#parts.network.clock };
    try {
      await admit(policy, { ...applicant, transport: gateTransport(end) });
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
    const { topic } = this.#parts;
    if (this.isSilent) return;
    for (const connection of this.#table.connections()) {
      if (connection !== from && this.#topics.get(connection.peer.id) === topic) connection.gossip(message);
    }
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

/** What a connection reports to its engine. */
export interface MemoryConnectionParts {
  readonly end: PipeEnd;
  readonly peer: EnginePeer;
  readonly refusals: RefusalCounter;
  readonly handler: (protocol: string) => ((stream: MeshStream) => void) | undefined;
  readonly gossip: (message: Uint8Array, from: MemoryConnection) => void;
  readonly closed: (connection: MemoryConnection) => void;
}

interface Opening {
  resolve(stream: MeshStream): void;
  reject(error: unknown): void;
}

/** A connection that passed the gate: streams and gossip over one pipe. */
export class MemoryConnection {
  readonly peer: EnginePeer;
  readonly hasArrived: ArrivalCheck | undefined;
  readonly #parts: MemoryConnectionParts;
  readonly #streams = new Map<number, MemoryStream>();
  readonly #inboundProtocols = new Map<number, string>();
  readonly #openings = new Map<number, Opening>();
  #nextStream: number;

  constructor(parts: MemoryConnectionParts) {
    this.#parts = parts;
    this.peer = parts.peer;
    this.hasArrived = arrivalCheck(parts.end);
    this.#nextStream = parts.peer.direction === 'outbound' ? 1 : 2;
  }

  /** Takes over the pipe, with what came meanwhile. */
  run(): void {
    this.#parts.end.listen(
      (message) => this.#receive(message),
      () => this.#end(),
    );
  }

  async openStream(protocol: string, signal: AbortSignal): Promise<MeshStream> {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const { promise, resolve, reject } = Promise.withResolvers<MeshStream>();
    this.#openings.set(stream, { resolve, reject });
    const abort = () => {
      this.#openings.delete(stream);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else this.#parts.end.send({ type: 'open', stream, protocol });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#openings.delete(stream);
    }
  }

  gossip(message: Uint8Array): void {
    this.#parts.end.send({ type: 'gossip', bytes: message });
  }

  drop(): void {
    this.#parts.end.close();
  }

  #receive(message: WireMessage): void {
    if (message.type === 'gossip') this.#parts.gossip(message.bytes, this);
    else if (message.type === 'open') this.#accept(message.stream, message.protocol);
    else if (message.type === 'opened') this.#opened(message.stream);
    else if (message.type === 'unopened') this.#unopened(message.stream);
    else if ('stream' in message) this.#receiveOn(this.#streams.get(message.stream), message);
    else this.drop();
  }

  #receiveOn(stream: MemoryStream | undefined, message: WireMessage): void {
    if (message.type === 'frame') stream?.received(message.bytes);
    else if (message.type === 'taken') stream?.acknowledged(message.byteCount);
    else if (message.type === 'end') stream?.ended();
    else stream?.closed();
  }

  #accept(id: number, protocol: string): void {
    const handler = this.#parts.handler(protocol);
    const openCount = this.#inboundProtocols
      .values()
      .filter((other) => other === protocol)
      .toArray().length;
    if (!handler || openCount >= MAX_INBOUND_STREAMS) {
      this.#parts.refusals.count(handler ? 'too_many_streams' : 'unknown_protocol');
      this.#parts.end.send({ type: 'unopened', stream: id });
      return;
    }
    this.#parts.end.send({ type: 'opened', stream: id });
    this.#inboundProtocols.set(id, protocol);
    handler(this.#add(id));
  }

  #opened(id: number): void {
    const opening = this.#openings.get(id);
    if (opening) opening.resolve(this.#add(id));
    // Whoever asked has given up meanwhile.
    else this.#parts.end.send({ type: 'reset', stream: id });
  }

  #unopened(id: number): void {
    const problem = `${this.peer.id} takes no such stream: it does not know the protocol, or has too many`;
    this.#openings.get(id)?.reject(new AtmoError('NODE_UNAVAILABLE', problem));
  }

  #add(id: number): MemoryStream {
    const { end, refusals } = this.#parts;
    const outlet: MemoryStreamOutlet = {
      peer: this.peer,
      hasArrived: this.hasArrived,
      frame: (bytes) => end.send({ type: 'frame', stream: id, bytes }),
      taken: (byteCount) => end.send({ type: 'taken', stream: id, byteCount }),
      finish: (type) => end.send({ type, stream: id }),
      closed: () => this.#forget(id),
      queueFull: () => refusals.count('send_queue_full'),
    };
    const stream = new MemoryStream(outlet);
    this.#streams.set(id, stream);
    return stream;
  }

  #forget(id: number): void {
    this.#streams.delete(id);
    this.#inboundProtocols.delete(id);
  }

  #end(): void {
    const gone = new AtmoError('NODE_UNAVAILABLE', `The connection to ${this.peer.id} has ended`);
    for (const opening of this.#openings.values()) opening.reject(gone);
    for (const stream of [...this.#streams.values()]) stream.closed();
    this.#parts.closed(this);
  }
}

function arrivalCheck(end: PipeEnd): ArrivalCheck | undefined {
  return end.hasArrived() === undefined ? undefined : () => end.hasArrived();
}

/** What a stream tells its connection. */
export interface MemoryStreamOutlet {
  readonly peer: EnginePeer;
  readonly hasArrived: ArrivalCheck | undefined;
  frame(bytes: Uint8Array): void;
  /** The listener has heard so many bytes of frames. */
  taken(byteCount: number): void;
  /** Tells the peer that nothing more comes: after what was sent, or at once. */
  finish(type: 'end' | 'reset'): void;
  closed(): void;
  queueFull(): void;
}

/** One side of a stream between two in-memory engines. */
export class MemoryStream implements MeshStream {
  readonly peer: EnginePeer;
  readonly hasArrived: ArrivalCheck | undefined;
  readonly #outlet: MemoryStreamOutlet;
  readonly #unread: Uint8Array[] = [];
  #listener: ((frame: Uint8Array) => void) | undefined;
  #closeListener: (() => void) | undefined;
  #drain = Promise.withResolvers<void>();
  #waitingBytes = 0;
  #unconfirmedBytes = 0;
  #peerEnded = false;
  #isClosed = false;

  constructor(outlet: MemoryStreamOutlet) {
    this.#outlet = outlet;
    this.peer = outlet.peer;
    this.hasArrived = outlet.hasArrived;
    this.#drain.promise.catch(() => undefined);
  }

  send(frame: Uint8Array): boolean {
    if (frame.length > MAX_FRAME_BYTES)
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A frame of ${frame.length} bytes is longer than ${MAX_FRAME_BYTES}`);
    if (this.#isClosed) return false;
    this.#waitingBytes += frame.length;
    if (this.#waitingBytes > MAX_SEND_QUEUE_BYTES) {
      this.#outlet.queueFull();
      this.abort();
      return false;
    }
    this.#outlet.frame(frame);
    return this.#hasRoom();
  }

  async drained(): Promise<void> {
    if (!this.#isClosed && this.#hasRoom()) return;
    await this.#drain.promise;
  }

  onFrame(listener: (frame: Uint8Array) => void): void {
    this.#listener = listener;
    for (const frame of this.#unread.splice(0)) this.#tell(frame, listener);
    if (this.#peerEnded) this.closed();
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#closeListener = listener;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#outlet.finish('end');
    this.closed();
  }

  abort(): void {
    if (this.#isClosed) return;
    this.#outlet.finish('reset');
    this.closed();
  }

  /** A frame came. */
  received(frame: Uint8Array): void {
    if (this.#isClosed) return;
    if (this.#listener) this.#tell(frame, this.#listener);
    else this.#unread.push(frame);
  }

  /** The peer's listener has heard so many bytes. */
  acknowledged(byteCount: number): void {
    this.#waitingBytes -= byteCount;
    if (!this.#hasRoom()) return;
    this.#drain.resolve();
    this.#drain = Promise.withResolvers();
    this.#drain.promise.catch(() => undefined);
  }

  /** The peer sends nothing more: the end comes after the last frame was heard. */
  ended(): void {
    this.#peerEnded = true;
    if (this.#unread.length === 0) this.closed();
  }

  /** Ends this side without telling the peer. */
  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unread.length = 0;
    this.#drain.reject(new AtmoError('NODE_UNAVAILABLE', `The stream to ${this.peer.id} has ended`));
    this.#outlet.closed();
    this.#closeListener?.();
  }

  #hasRoom(): boolean {
    return this.#waitingBytes < SEND_WINDOW_BYTES;
  }

  #tell(frame: Uint8Array, listener: (frame: Uint8Array) => void): void {
    this.#unconfirmedBytes += frame.length;
    if (this.#unconfirmedBytes >= CONFIRMED_BYTES) {
      this.#outlet.taken(this.#unconfirmedBytes);
      this.#unconfirmedBytes = 0;
    }
    listener(frame);
  }
}

/** So many bytes at least are confirmed together. It is less than the window, so that a sender which waits goes on. */
const CONFIRMED_BYTES = SEND_WINDOW_BYTES / 4;

/** How long a message is remembered at least, as gossipsub does it. */
const REMEMBERED_MS = 120_000;
/** Messages of one generation: a flood ends a generation early. */
const MAX_REMEMBERED = 16_384;

/** Engines of one process hand the same bytes on: each message is hashed once. */
const ids = new WeakMap<Uint8Array, string>();

/** Which messages came already. */
export class SeenMessages {
  readonly #clock: Clock;
  #young = new Set<string>();
  #old = new Set<string>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Remembers the message; false when it came before. */
  add(message: Uint8Array): boolean {
    const id = idOf(message);
    if (this.#young.has(id) || this.#old.has(id)) return false;
    this.#turn();
    this.#young.add(id);
    return true;
  }

  #turn(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#sinceMs < REMEMBERED_MS && this.#young.size < MAX_REMEMBERED) return;
    this.#old = this.#young;
    this.#young = new Set();
    this.#sinceMs = nowMs;
  }
}

function idOf(message: Uint8Array): string {
  const known = ids.get(message);
  if (known !== undefined) return known;
  const id = createHash('sha256').update(message).digest('base64');
  ids.set(message, id);
  return id;
}
