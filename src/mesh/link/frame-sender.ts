import { encodeFrame, type Frame } from '../../wire/messages/frame.ts';
import type { MeshStream } from '../engine/mesh-engine.ts';

/** Writes frames to the stream of a link and knows when it is full. */
export class FrameSender {
  readonly #stream: MeshStream;
  #drained: Promise<void> | undefined;

  constructor(stream: MeshStream) {
    this.#stream = stream;
  }

  /** Resolves when the stream has room again; undefined while it has. */
  get room(): Promise<void> | undefined {
    return this.#drained;
  }

  /** Sends in any case: for what is bounded otherwise, as answers are by the requests in flight. */
  send(frame: Frame): void {
    if (this.#stream.send(encodeFrame(frame)) || this.#drained) return;
    const freed = () => {
      this.#drained = undefined;
    };
    this.#drained = this.#stream.drained().then(freed, freed);
  }
}
