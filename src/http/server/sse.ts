/** Headers of an answer that is Server-Sent Events (HTML Living Standard §9.2); proxies pass it on as it comes. */
export const SSE_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;
/** The first words of a stream to which clients come back: when. */
export const SSE_RETRY = 'retry: 2000\n\n';
/** A comment, so that nobody takes a silent stream for a dead one. */
export const SSE_KEEP_ALIVE = ': still here\n\n';
/** How long a stream is silent at most. */
export const SSE_HEARTBEAT_MS = 15_000;

/** A message with its data in JSON; who comes back names the `id` of the last one. */
export function sseMessage(event: string, data: object, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

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
