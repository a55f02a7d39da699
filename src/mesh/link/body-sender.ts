import { CHUNK_BYTES, chunksOf } from './body-chunks.ts';
import type { CreditWindow } from './credit-window.ts';
import type { FrameSender } from './frame-sender.ts';

/** Whose frames, and how much room the peer has for them. */
export interface BodyRoute {
  readonly id: number;
  readonly sender: FrameSender;
  readonly window: CreditWindow;
}

/**
 * Sends a body: all but the last piece as chunks, as the peer has room; the last one goes with the frame that `finish`
 * sends. Undefined when that was done at once; else rejects when the window ends.
 */
export function sendBody(body: Uint8Array, route: BodyRoute, finish: (last: Uint8Array) => void): Promise<void> | undefined {
  if (body.length > CHUNK_BYTES) return sendLongBody(body, route, finish);
  finish(body);
  return undefined;
}

async function sendLongBody(body: Uint8Array, { id, sender, window }: BodyRoute, finish: (last: Uint8Array) => void): Promise<void> {
  const lastStart = Math.floor((body.length - 1) / CHUNK_BYTES) * CHUNK_BYTES;
  for (const bytes of chunksOf(body.subarray(0, lastStart))) {
    await window.take(bytes.length);
    await sender.room;
    window.check();
    sender.send({ type: 'chunk', id, bytes });
  }
  finish(body.subarray(lastStart));
}
