import { BdxError } from '@matter/main/protocol';
import { BdxStatusCode } from '@matter/main/types';

/** So few blocks go out after the end. */
const PIECE_BYTES = 4096;

/**
 * An image that can be withdrawn while a device downloads it. The transfer then answers the device's next question with an error;
 * when matter.js closes a transfer itself, the device hears nothing and waits for minutes.
 */
export class EndableImage {
  readonly #blob: Blob;
  readonly #end: AbortSignal;

  constructor(blob: Blob, end: AbortSignal) {
    this.#blob = blob;
    this.#end = end;
  }

  get size(): number {
    return this.#blob.size;
  }

  slice(start?: number, end?: number): EndableImage {
    return new EndableImage(this.#blob.slice(start, end), this.#end);
  }

  stream(): ReadableStream<Uint8Array> {
    let offset = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      if (this.#end.aborted) throw new BdxError('The update was ended', BdxStatusCode.TransferFailedUnknownError);
      const piece = new Uint8Array(await this.#blob.slice(offset, offset + PIECE_BYTES).arrayBuffer());
      offset += piece.byteLength;
      if (piece.byteLength > 0) controller.enqueue(piece);
      if (offset >= this.#blob.size) controller.close();
    };
    const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
    // matter.js cancels the stream when a transfer is over. Of one that has ended in an error that rejects, in a promise that nobody
    // waits for: it would end the hub.
    const cancel = (reason?: unknown): Promise<void> => ReadableStream.prototype.cancel.call(stream, reason).catch(() => undefined);
    return Object.assign(stream, { cancel });
  }
}
