import type { Connection, Stream, StreamMessageEvent } from '@libp2p/interface';
import { StreamState, YamuxStream } from '@libp2p/yamux/stream';
import { AtmoError } from '../../core/errors.ts';
import type { PassedPeer, RefusalCounter } from './admission.ts';
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

/** A libp2p connection to a hub that has passed the gate. */
export class Libp2pConnection implements TableConnection, StreamRoute {
  readonly peer: EnginePeer;
  /** Local address of the socket; undefined if the socket was already closed. */
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

  /** Opens a stream. Rejects with NODE_UNAVAILABLE if the peer does not accept the stream, or with the signal's reason. */
  async openStream(protocol: string, refusals: RefusalCounter, signal: AbortSignal): Promise<Libp2pStream> {
    try {
      const stream = new Libp2pStream(await this.#connection.newStream(protocol, { signal }), this, refusals);
      const abort = () => stream.abort();
      signal.addEventListener('abort', abort, { once: true });
      await stream.accepted.finally(() => signal.removeEventListener('abort', abort));
      return stream;
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const problem = `${this.peer.id} accepts no stream of ${protocol}: it does not know the protocol, or has too many`;
      throw new AtmoError('NODE_UNAVAILABLE', problem, {}, { cause });
    }
  }

  drop(): void {
    this.#connection.abort(new Error('ended by this hub'));
  }

  /** Closes the connection after everything is sent. */
  async close(): Promise<void> {
    await this.#connection.close().catch(() => this.drop());
  }
}

const CLOSE_TIMEOUT_MS = 5_000;
const EMPTY = new Uint8Array(0);

interface StreamRoute {
  readonly peer: EnginePeer;
  /** Returns whether the peer's machine has received everything that was sent, like `MeshStream.hasArrived`. */
  readonly hasArrived: ArrivalCheck | undefined;
}

/** Sends and receives frames over a multiplexed stream. A hub accepts a stream by sending an empty frame before all other frames. */
export class Libp2pStream implements MeshStream {
  readonly peer: EnginePeer;
  readonly hasArrived: ArrivalCheck | undefined;
  readonly #stream: Stream;
  readonly #refusals: RefusalCounter;
  readonly #unread: Uint8Array[] = [];
  readonly #accepted = Promise.withResolvers<void>();
  #isAccepted: boolean;
  #listener: ((frame: Uint8Array) => void) | undefined;
  #closeListener: (() => void) | undefined;
  #drain: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(stream: Stream, route: StreamRoute, refusals: RefusalCounter) {
    this.peer = route.peer;
    this.hasArrived = route.hasArrived;
    this.#stream = stream;
    this.#refusals = refusals;
    this.#isAccepted = stream.direction === 'inbound';
    batchWindowUpdates(stream);
    this.#accepted.promise.catch(() => undefined);
    this.#listen(new FrameDecoder(MAX_FRAME_BYTES, (frame) => this.#receive(frame)));
    if (this.#isAccepted) stream.send(frameWithHeader(EMPTY));
    if (stream.status !== 'open') this.#end();
  }

  /** Resolves when the peer has accepted the stream. Rejects if the stream ends before. */
  get accepted(): Promise<void> {
    return this.#accepted.promise;
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

  #listen(decoder: FrameDecoder): void {
    this.#stream.addEventListener('message', (event) => this.#decode(decoder, event));
    // Waits for the next microtask: by then, libp2p has either sent its queue or found the socket full again.
    this.#stream.addEventListener('drain', () => queueMicrotask(() => this.#checkRoom()));
    this.#stream.addEventListener('idle', () => this.#checkRoom());
    this.#stream.addEventListener('remoteCloseWrite', () => queueMicrotask(() => void this.#peerEnded()));
    this.#stream.addEventListener('close', () => this.#end());
  }

  #decode(decoder: FrameDecoder, { data }: StreamMessageEvent): void {
    if (this.#isClosed || decoder.push(data.subarray())) return;
    this.#refusals.count('frame_too_long');
    this.abort();
  }

  #receive(frame: Uint8Array): void {
    if (!this.#isAccepted) {
      this.#isAccepted = true;
      this.#accepted.resolve();
    } else if (this.#listener) this.#listener(frame);
    else this.#keep(frame);
  }

  /** Stores a frame until a listener is set. Also pauses the peer, which may still send the rest of its window. */
  #keep(frame: Uint8Array): void {
    this.#unread.push(frame);
    if (this.#stream.readStatus === 'readable') this.#stream.pause();
  }

  async #peerEnded(): Promise<void> {
    if (this.#unread.length === 0 && this.#stream.readBufferLength === 0) await this.close();
  }

  #checkRoom(): void {
    if (!this.#drain || !this.#hasRoom()) return;
    this.#drain.resolve();
    this.#drain = undefined;
  }

  #hasRoom(): boolean {
    // The status is checked too. After an abort, the queue is empty, but the stream accepts nothing more.
    return this.#stream.status === 'open' && !this.#stream.writableNeedsDrain && this.#stream.writeBufferLength === 0;
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#accepted.reject(this.#ended());
    this.#drain?.reject(this.#ended());
    this.#closeListener?.();
  }

  #ended(): AtmoError {
    return new AtmoError('NODE_UNAVAILABLE', `The stream to ${this.peer.id} has ended`);
  }
}

/** Length of a frame's header in bytes. The header is the length of the frame as a big-endian number. */
const FRAME_HEADER_BYTES = 4;

/** Returns the frame with its header in front. */
export function frameWithHeader(frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + frame.length);
  new DataView(bytes.buffer).setUint32(0, frame.length);
  bytes.set(frame, FRAME_HEADER_BYTES);
  return bytes;
}

/** Decodes a byte stream into frames. A frame that arrives in a single chunk is not copied. */
export class FrameDecoder {
  readonly #maxBytes: number;
  readonly #onFrame: (frame: Uint8Array) => void;
  #rest: Uint8Array | undefined;

  constructor(maxBytes: number, onFrame: (frame: Uint8Array) => void) {
    this.#maxBytes = maxBytes;
    this.#onFrame = onFrame;
  }

  /** Decodes the next chunk. Returns false if a frame is too long; nothing after that frame can be decoded. */
  push(chunk: Uint8Array): boolean {
    let bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    while (bytes.length >= FRAME_HEADER_BYTES) {
      const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
      if (length > this.#maxBytes) return false;
      const end = FRAME_HEADER_BYTES + length;
      if (bytes.length < end) break;
      // Creates a plain Uint8Array: a Buffer has other methods slice() and toJSON().
      this.#onFrame(new Uint8Array(bytes.buffer, bytes.byteOffset + FRAME_HEADER_BYTES, length));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes.length > 0 ? bytes : undefined;
    return true;
  }
}

/** A window update is sent after this many bytes have been read. */
const WINDOW_UPDATE_BYTES = SEND_WINDOW_BYTES / 4;

/**
 * Sends one window update for many messages. The default of Yamux is an update after every message. With this default, an exchange of two
 * messages would cost 190 more bytes, because each update is encrypted and acknowledged.
 */
function batchWindowUpdates(stream: Stream): void {
  if (!(stream instanceof YamuxStream)) return;
  const handleData = stream.handleData.bind(stream);
  const sendWindowUpdate = stream.sendWindowUpdate.bind(stream);
  let readBytes = 0;
  stream.handleData = (frame) => {
    readBytes += frame.header.length;
    handleData(frame);
  };
  // Only updates of an established stream are delayed. Other updates open or accept the stream, or make a paused peer wait.
  stream.sendWindowUpdate = () => {
    if (stream.state === StreamState.Established && readBytes < WINDOW_UPDATE_BYTES) return;
    if (stream.state !== StreamState.Paused) readBytes = 0;
    sendWindowUpdate();
  };
}
