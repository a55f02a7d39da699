import { AtmoError } from '../../core/errors.ts';

/** The body of an answer, measured while it arrives; `onPart` hears each piece. PAYLOAD_TOO_LARGE beyond `maxBytes`; the rest is then not read. */
export async function readBounded(
  response: Response,
  maxBytes: number,
  onPart?: (part: Uint8Array) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
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
