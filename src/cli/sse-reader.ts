/** One message of an event stream. */
export interface SseMessage {
  readonly event: string;
  readonly data: string;
}

/** The messages of an event stream (HTML Living Standard §9.2.6); comments and fields other than event and data are skipped. */
export async function* sseMessages(body: ReadableStream<Uint8Array> | null): AsyncIterable<SseMessage> {
  if (body === null) return;
  let rest = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = `${rest}${chunk}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = parseBlock(block);
      if (message) yield message;
    }
  }
}

function parseBlock(block: string): SseMessage | undefined {
  const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line));
  const valuesOf = (name: string) => fields.filter((field) => field?.[1] === name).map((field) => field?.[2] ?? '');
  const data = valuesOf('data');
  return data.length === 0 ? undefined : { event: valuesOf('event')[0] ?? 'message', data: data.join('\n') };
}
