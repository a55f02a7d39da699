import type { Stream, StreamMessageEvent } from '@libp2p/interface';
import { AtmoError } from '../../../core/errors.ts';
import { MAX_SEND_QUEUE_BYTES } from '../engine-limits.ts';
import { FrameCutter, frameWithHeader } from '../frame-cutter.ts';
import { type ArrivalCheck, type EnginePeer, MAX_FRAME_BYTES, type MeshStream } from '../mesh-engine.ts';
import type { RefusalCounter } from '../refusal-counter.ts';
import { tellReadInBulk } from './thrifty-window.ts';

const CLOSE_TIMEOUT_MS = 5_000;
const EMPTY = new Uint8Array(0);

/** The connection that a stream is of. */
export interface StreamRoute {
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
    tellReadInBulk(stream);
    this.#taken.promise.catch(() => undefined);
    this.#listen(new FrameCutter(MAX_FRAME_BYTES, (frame) => this.#receive(frame)));
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

  #listen(cutter: FrameCutter): void {
    this.#stream.addEventListener('message', (event) => this.#cut(cutter, event));
    // In the next microtask libp2p has sent what waited, or has found the way full again.
    this.#stream.addEventListener('drain', () => queueMicrotask(() => this.#tellRoom()));
    this.#stream.addEventListener('idle', () => this.#tellRoom());
    this.#stream.addEventListener('remoteCloseWrite', () => queueMicrotask(() => void this.#peerEnded()));
    this.#stream.addEventListener('close', () => this.#end());
  }

  #cut(cutter: FrameCutter, { data }: StreamMessageEvent): void {
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
