/** Headers of a Server-Sent Events response (HTML Living Standard §9.2). `x-accel-buffering` tells proxies not to buffer it. */
export const SSE_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;
/** First message of a stream. It tells the client to wait 2,000 ms before it reconnects. */
export const SSE_RETRY = 'retry: 2000\n\n';
/** Comment line that shows that an idle stream is still open. */
export const SSE_KEEP_ALIVE = ': still here\n\n';
/** Interval of the keep-alive comments in milliseconds. */
export const SSE_HEARTBEAT_MS = 15_000;

/** Returns an SSE message with JSON data. When a client reconnects, it sends the `id` of the last message that it received. */
export function sseMessage(event: string, data: object, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A response body whose text is written while the client reads it. */
export class TextStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** `canWrite` is false while `maxPendingBytes` bytes or more wait for the reader. `onCancel` is called if the reader disconnects. */
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

  /** Returns whether the reader is still connected and fewer than `maxPendingBytes` bytes wait for it. */
  get canWrite(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Writes text, even if `canWrite` is false. Does nothing if the reader has disconnected. */
  write(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  /** Ends the stream after the reader has received the waiting bytes. */
  close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }
}
