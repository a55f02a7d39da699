import { type SseMessage, SseParser } from '../../codec/sse-parser.ts';
import { AtmoError } from '../../core/errors.ts';

/** Maximum bytes of an answer that is read whole. A hub sends a few MB at most; without a limit, another program could fill the memory. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** Returns the text of an answer. Throws RESULT_INVALID, and reads no further, if it is longer than a hub's answers are. */
export async function answerText({ body, url }: Response, maxBytes = MAX_ANSWER_BYTES): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(url, maxBytes);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function tooLarge(url: string, maxBytes: number): AtmoError {
  const message = `What answers at ${url || 'the address'} sends more than ${maxBytes} bytes, as no hub does; see whether the address is that of your hub`;
  return new AtmoError('RESULT_INVALID', message, { max_bytes: maxBytes });
}

/**
 * Yields the messages in an event stream's body as they arrive. Throws HUB_UNREACHABLE if the connection was cut, RESULT_INVALID if a
 * message is longer than a hub's messages are.
 */
export async function* sseMessages(body: ReadableStream<Uint8Array> | null): AsyncIterable<SseMessage> {
  if (body === null) return;
  const parser = new SseParser();
  const chunks = body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  try {
    for (let next = await nextOf(chunks); next.done !== true; next = await nextOf(chunks)) yield* parser.push(next.value);
  } finally {
    await chunks.return?.();
  }
}

async function nextOf(chunks: AsyncIterator<string>): Promise<IteratorResult<string>> {
  try {
    return await chunks.next();
  } catch (cause) {
    throw new AtmoError('HUB_UNREACHABLE', 'The connection to the hub was cut', {}, { cause });
  }
}
