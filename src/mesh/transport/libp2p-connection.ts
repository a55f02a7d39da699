import type { Connection, Stream, StreamMessageEvent } from '@libp2p/interface';
import { StreamState, YamuxStream } from '@libp2p/yamux/stream';
import { AtmoError } from '../../core/errors.ts';
import type { RefusalCounter } from './admission.ts';
import type { PassedPeer } from './connection-attempt.ts';
import {
  type ArrivalCheck,
  type EnginePeer,
  MAX_FRAME_BYTES,
  MAX_SEND_QUEUE_BYTES,
  type MeshStream,
  SEND_WINDOW_BYTES,
} from './mesh-engine.ts';
import type { TableConnection } from './peer-table.ts';
import { arrivalCheck } from './tcp-connection.ts';

/** A libp2p connection to a hub that passed the gate. */
export class Libp2pConnection implements TableConnection, StreamRoute {
  readonly peer: EnginePeer;
  /** Address of this machine that it uses. */
  readonly localHost: string | undefined;
  readonly hasArrived: ArrivalCheck | undefined;
  readonly #connection: Connection;

  constructor(connection: Connection, { peer, ends }: PassedPeer) {
    this.#connection = connection;
    this.peer = peer;
    this.localHost = ends?.localHost;
    this.hasArrived = ends && arrivalCheck(ends);
  }

  is(connection: Connection): boolean {
    return this.#connection === connection;
  }

  get remotePeer(): Connection['remotePeer'] {
    return this.#connection.remotePeer;
  }

  /** NODE_UNAVAILABLE when the peer does not take the stream; the signal's reason. */
  async openStream(protocol: string, refusals: RefusalCounter, signal: AbortSignal): Promise<Libp2pStream> {
    try {
      const stream = new Libp2pStream(await this.#connection.newStream(protocol, { signal }), this, refusals);
      const abort = () => stream.abort();
      signal.addEventListener('abort', abort, { once: true });
      await stream.taken().finally(() => signal.removeEventListener('abort', abort));
      return stream;
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const problem = `${this.peer.id} takes no stream of ${protocol}: it does not know the protocol, or has too many`;
      throw new AtmoError('NODE_UNAVAILABLE', problem, {}, { cause });
    }
  }

  drop(): void {
    this.#connection.abort(new Error('ended by this hub'));
  }

  /** Ends it after what was sent. */
  async close(): Promise<void> {
    await this.#connection.close().catch(() => this.drop());
  }
}

const CLOSE_TIMEOUT_MS = 5_000;
const EMPTY = new Uint8Array(0);

/** The connection that a stream is of. */
interface StreamRoute {
  readonly peer: EnginePeer;
  /** As `MeshStream.hasArrived`. */
  readonly hasArrived: ArrivalCheck | undefined;
}

/** Frames over one stream of the multiplexer. The side that answers sends an empty frame first: it has taken the stream. */
export class Libp2pStream implements MeshStream {
  readonly peer: EnginePeer;
  readonly hasArrived: ArrivalCheck | undefined;
  readonly #stream: Stream;
  readonly #refusals: RefusalCounter;
  readonly #unread: Uint8Array[] = [];
  readonly #taken = Promise.withResolvers<void>();
  #isTaken: boolean;
  #listener: ((frame: Uint8Array) => void) | undefined;
  #closeListener: (() => void) | undefined;
  #drain: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(stream: Stream, route: StreamRoute, refusals: RefusalCounter) {
    this.peer = route.peer;
    this.hasArrived = route.hasArrived;
    this.#stream = stream;
    this.#refusals = refusals;
    this.#isTaken = stream.direction === 'inbound';
    batchWindowUpdates(stream);
    this.#taken.promise.catch(() => undefined);
    this.#listen(new FrameDecoder(MAX_FRAME_BYTES, (frame) => this.#receive(frame)));
    if (this.#isTaken) stream.send(frameWithHeader(EMPTY));
    if (stream.status !== 'open') this.#end();
  }

  /** Resolves when the peer has taken the stream; rejects when it ends before that. */
  async taken(): Promise<void> {
    await this.#taken.promise;
  }

  send(frame: Uint8Array): boolean {
    if (frame.length > MAX_FRAME_BYTES)
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A frame of ${frame.length} bytes is longer than ${MAX_FRAME_BYTES}`);
    if (this.#isClosed || this.#stream.writeStatus !== 'writable') return false;
    this.#stream.send(frameWithHeader(frame));
    if (this.#stream.writeBufferLength <= MAX_SEND_QUEUE_BYTES) return this.#hasRoom();
    this.#refusals.count('send_queue_full');
    this.abort();
    return false;
  }

  async drained(): Promise<void> {
    if (this.#isClosed) throw this.#ended();
    if (this.#hasRoom()) return;
    this.#drain ??= Promise.withResolvers();
    await this.#drain.promise;
  }

  onFrame(listener: (frame: Uint8Array) => void): void {
    this.#listener = listener;
    for (const frame of this.#unread.splice(0)) listener(frame);
    if (this.#stream.readStatus === 'paused') this.#stream.resume();
    if (this.#stream.remoteWriteStatus !== 'writable') void this.#peerEnded();
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#closeListener = listener;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    const closed = this.#stream.close({ signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) });
    this.#end();
    await closed.catch((error) => this.#stream.abort(error));
  }

  abort(): void {
    this.#stream.abort(new Error('ended by this hub'));
    this.#end();
  }

  #listen(cutter: FrameDecoder): void {
    this.#stream.addEventListener('message', (event) => this.#cut(cutter, event));
    // In the next microtask libp2p has sent what waited, or has found the way full again.
    this.#stream.addEventListener('drain', () => queueMicrotask(() => this.#tellRoom()));
    this.#stream.addEventListener('idle', () => this.#tellRoom());
    this.#stream.addEventListener('remoteCloseWrite', () => queueMicrotask(() => void this.#peerEnded()));
    this.#stream.addEventListener('close', () => this.#end());
  }

  #cut(cutter: FrameDecoder, { data }: StreamMessageEvent): void {
    if (this.#isClosed || cutter.push(data.subarray())) return;
    this.#refusals.count('frame_too_long');
    this.abort();
  }

  #receive(frame: Uint8Array): void {
    if (!this.#isTaken) {
      this.#isTaken = true;
      this.#taken.resolve();
    } else if (this.#listener) this.#listener(frame);
    else this.#keep(frame);
  }

  /** Without a listener the peer is slowed down: it may send what its window still allows, and no more. */
  #keep(frame: Uint8Array): void {
    this.#unread.push(frame);
    if (this.#stream.readStatus === 'readable') this.#stream.pause();
  }

  async #peerEnded(): Promise<void> {
    if (this.#unread.length === 0 && this.#stream.readBufferLength === 0) await this.close();
  }

  #tellRoom(): void {
    if (!this.#drain || !this.#hasRoom()) return;
    this.#drain.resolve();
    this.#drain = undefined;
  }

  #hasRoom(): boolean {
    // An abort throws away what waited and then tells that nothing waits.
    return this.#stream.status === 'open' && !this.#stream.writableNeedsDrain && this.#stream.writeBufferLength === 0;
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#taken.reject(this.#ended());
    this.#drain?.reject(this.#ended());
    this.#closeListener?.();
  }

  #ended(): AtmoError {
    return new AtmoError('NODE_UNAVAILABLE', `The stream to ${this.peer.id} has ended`);
  }
}

/** Bytes of the length in front of each frame, big-endian. */
export const FRAME_HEADER_BYTES = 4;

/** A frame behind its length. */
export function frameWithHeader(frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + frame.length);
  new DataView(bytes.buffer).setUint32(0, frame.length);
  bytes.set(frame, FRAME_HEADER_BYTES);
  return bytes;
}

/** Cuts a stream of bytes into frames, without a copy where a frame arrives whole. */
export class FrameDecoder {
  readonly #maxBytes: number;
  readonly #onFrame: (frame: Uint8Array) => void;
  #rest: Uint8Array | undefined;

  constructor(maxBytes: number, onFrame: (frame: Uint8Array) => void) {
    this.#maxBytes = maxBytes;
    this.#onFrame = onFrame;
  }

  /** False for a frame that is too long: nothing after it can be read. */
  push(chunk: Uint8Array): boolean {
    let bytes = this.#rest ? joined(this.#rest, chunk) : chunk;
    while (bytes.length >= FRAME_HEADER_BYTES) {
      const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
      if (length > this.#maxBytes) return false;
      const end = FRAME_HEADER_BYTES + length;
      if (bytes.length < end) break;
      // Never a Buffer, whose slice() and toJSON() are others than those of a Uint8Array.
      this.#onFrame(new Uint8Array(bytes.buffer, bytes.byteOffset + FRAME_HEADER_BYTES, length));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes.length > 0 ? bytes : undefined;
    return true;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

/** Read bytes from which on the peer is told that it may send as many more. */
const TELL_FROM_BYTES = SEND_WINDOW_BYTES / 4;

/**
 * Tells the peer in bulk what was read. Yamux says it after every message: a packet with its acknowledgement and its own
 * encryption for each that comes, 190 bytes for every exchange of two.
 */
function batchWindowUpdates(stream: Stream): void {
  if (!(stream instanceof YamuxStream)) return;
  const handleData = stream.handleData.bind(stream);
  const sendWindowUpdate = stream.sendWindowUpdate.bind(stream);
  let untoldBytes = 0;
  stream.handleData = (frame) => {
    untoldBytes += frame.header.length;
    handleData(frame);
  };
  // In other states it opens or takes the stream, or the peer is to wait.
  stream.sendWindowUpdate = () => {
    if (stream.state === StreamState.Established && untoldBytes < TELL_FROM_BYTES) return;
    if (stream.state !== StreamState.Paused) untoldBytes = 0;
    sendWindowUpdate();
  };
}
