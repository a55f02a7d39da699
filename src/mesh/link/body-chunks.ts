import { AtmoError } from '../../core/errors.ts';

/** Longest body that travels in one frame, and longest piece of a longer one. */
export const CHUNK_BYTES = 32_768;
/** Shortest piece but the last one: what is kept of a piece is more than its bytes. */
export const LEAST_CHUNK_BYTES = 4_096;
/** Longest body of a request or an answer. */
export const MAX_BODY_BYTES = 4_194_304;

/** PAYLOAD_TOO_LARGE when no link carries the body. */
export function requireSendable(body: Uint8Array): void {
  if (body.length <= MAX_BODY_BYTES) return;
  throw new AtmoError('PAYLOAD_TOO_LARGE', `The message has ${body.length} bytes; between hubs at most ${MAX_BODY_BYTES} travel at once`);
}

/** The pieces of a body, views of it. */
export function* chunksOf(body: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < body.length; start += CHUNK_BYTES) yield body.subarray(start, start + CHUNK_BYTES);
}

/** Puts the pieces of one body together. */
export class BodyAssembler {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  /** False when the body has become longer than any may be. */
  add(piece: Uint8Array): boolean {
    this.#pieces.push(piece);
    this.#length += piece.length;
    return this.#length <= MAX_BODY_BYTES;
  }

  body(): Uint8Array {
    return Buffer.concat(this.#pieces, this.#length);
  }
}
