interface Relay {
  /** So many bytes may wait for a slow reader. */
  readonly maxPendingBytes: number;
  /** Told once: the stream has ended, its reader went away, or too much waited for it. */
  onEnd(): void;
}

/** Passes a stream on at the pace at which it comes, so that nothing piles up unseen; a reader that falls too far behind is cut off. */
export function relayed(source: ReadableStream<Uint8Array>, { maxPendingBytes, onEnd }: Relay): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        void pump(reader, controller).finally(onEnd);
      },
      async cancel(reason) {
        await reader.cancel(reason);
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxPendingBytes }),
  );
}

async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  controller: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      if ((controller.desiredSize ?? 0) <= 0) {
        await reader.cancel();
        break;
      }
      controller.enqueue(chunk.value);
    }
    controller.close();
  } catch {
    // The reader has gone, and with it everybody whom an error could be told.
  }
}
