/** The body of an answer that is written while it is read. */
export class TextStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** So many bytes may wait for a slow reader; `onCancel` is told when it goes away. */
  constructor(maxPendingBytes: number, onCancel: () => void) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#controller = undefined;
          onCancel();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxPendingBytes }),
    );
  }

  /** False when too much waits, and once the reader has gone. */
  get hasRoom(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Writes whether there is room or not; nothing once the reader has gone. */
  write(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  /** What waits is still read. */
  close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }
}
