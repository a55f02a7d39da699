import { AtmoError } from '../../../core/errors.ts';
import { MAX_SEND_QUEUE_BYTES, SEND_WINDOW_BYTES } from '../engine-limits.ts';
import { type EnginePeer, MAX_FRAME_BYTES, type MeshStream } from '../mesh-engine.ts';

/** What a stream tells its connection. */
export interface MemoryStreamOutlet {
  readonly peer: EnginePeer;
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
  readonly #outlet: MemoryStreamOutlet;
  readonly #unread: Uint8Array[] = [];
  #listener: ((frame: Uint8Array) => void) | undefined;
  #closeListener: (() => void) | undefined;
  #drain = Promise.withResolvers<void>();
  #waitingBytes = 0;
  #peerEnded = false;
  #isClosed = false;

  constructor(outlet: MemoryStreamOutlet) {
    this.#outlet = outlet;
    this.peer = outlet.peer;
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
    this.#outlet.taken(frame.length);
    listener(frame);
  }
}
