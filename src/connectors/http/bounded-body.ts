import { AtmoError } from '../../core/errors.ts';

/** Hears each piece of a body as it comes. */
type PartListener = (part: Uint8Array) => void;

/** All that a stream brings, in one piece. PAYLOAD_TOO_LARGE beyond `maxBytes`; the stream is then ended. */
export async function collectBounded(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  onPart?: PartListener,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stream) {
    length += part.length;
    if (length > maxBytes) throw new AtmoError('PAYLOAD_TOO_LARGE', `The answer is longer than ${maxBytes} bytes`, { max_bytes: maxBytes });
    parts.push(part);
    onPart?.(part);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
