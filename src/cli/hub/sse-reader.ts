import { type SseMessage, SseParser } from '../../wire/sse-parser.ts';

/** The messages of the body of an event stream, as they come. */
export async function* sseMessages(body: ReadableStream<Uint8Array> | null): AsyncIterable<SseMessage> {
  if (body === null) return;
  const parser = new SseParser();
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) yield* parser.push(chunk);
}
