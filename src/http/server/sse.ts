/** Headers of a Server-Sent Events response (HTML Living Standard §9.2), which forbid proxies to buffer it. */
export const SSE_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;
/** First message of a stream, with the milliseconds after which a disconnected client should reconnect. */
export const SSE_RETRY = 'retry: 2000\n\n';
/** Comment line that shows that an idle stream is still open. */
export const SSE_KEEP_ALIVE = ': still here\n\n';
/** Maximum time without a message in milliseconds. Then a keep-alive comment is sent. */
export const SSE_HEARTBEAT_MS = 15_000;

/** Returns an SSE message with JSON data. A client that reconnects sends back the `id` of its last message. */
export function sseMessage(event: string, data: object, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A response body whose text is written while the client reads it. */
export class TextStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** At most `maxPendingBytes` wait for a slow reader. `onCancel` is called if the reader disconnects. */
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

  /** Returns whether text can be written: not too many bytes wait, and the reader is still connected. */
  get canWrite(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Writes text, even above the limit. Does nothing if the reader has disconnected. */
  write(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  /** Ends the stream after the reader has received the waiting bytes. */
  close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }
}
