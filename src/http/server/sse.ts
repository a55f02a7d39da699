/** Headers of a Server-Sent Events response (HTML Living Standard §9.2); proxies must not buffer it. */
export const SSE_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;
/** First message of a stream: the time in ms after which clients reconnect. */
export const SSE_RETRY = 'retry: 2000\n\n';
/** A comment that shows that an idle stream is alive. */
export const SSE_KEEP_ALIVE = ': still here\n\n';
/** Longest time without a message. */
export const SSE_HEARTBEAT_MS = 15_000;

/** Returns a message with JSON data; a client that reconnects sends the `id` of its last message. */
export function sseMessage(event: string, data: object, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A response body that is written while the client reads it. */
export class TextStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** At most `maxPendingBytes` wait for a slow reader; `onCancel` is called when the reader disconnects. */
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

  /** Returns false while too many bytes wait, and once the reader has disconnected. */
  get canWrite(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Writes even above the limit; does nothing once the reader has disconnected. */
  write(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  /** Ends the stream; the reader still gets the waiting bytes. */
  close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }
}
