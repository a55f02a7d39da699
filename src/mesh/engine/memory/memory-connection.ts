import { AtmoError } from '../../../core/errors.ts';
import { MAX_INBOUND_STREAMS } from '../engine-limits.ts';
import type { EnginePeer, MeshStream } from '../mesh-engine.ts';
import type { RefusalCounter } from '../refusal-counter.ts';
import type { PipeEnd, WireMessage } from './memory-pipe.ts';
import { MemoryStream, type MemoryStreamOutlet } from './memory-stream.ts';

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
  readonly #parts: MemoryConnectionParts;
  readonly #streams = new Map<number, MemoryStream>();
  readonly #inboundProtocols = new Map<number, string>();
  readonly #openings = new Map<number, Opening>();
  #nextStream: number;

  constructor(parts: MemoryConnectionParts) {
    this.#parts = parts;
    this.peer = parts.peer;
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
