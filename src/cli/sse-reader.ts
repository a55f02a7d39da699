/** One message of an event stream. */
export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** Where to go on after a cut; absent where the stream names none. */
  readonly id?: string;
}

/** The messages of an event stream (HTML Living Standard §9.2.6); comments and fields other than event, data and id are skipped. */
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
  const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/s.exec(line));
  const valuesOf = (name: string) => fields.filter((field) => field?.[1] === name).map((field) => field?.[2] ?? '');
  const data = valuesOf('data');
  const [id] = valuesOf('id');
  if (data.length === 0) return undefined;
  return { event: valuesOf('event')[0] ?? 'message', data: data.join('\n'), ...(id !== undefined && { id }) };
}
