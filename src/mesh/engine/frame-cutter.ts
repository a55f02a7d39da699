/** Bytes of the length in front of each frame, big-endian. */
export const FRAME_HEADER_BYTES = 4;

/** A frame behind its length. */
export function frameWithHeader(frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + frame.length);
  new DataView(bytes.buffer).setUint32(0, frame.length);
  bytes.set(frame, FRAME_HEADER_BYTES);
  return bytes;
}

/** Cuts a stream of bytes into frames, without a copy where a frame arrives whole. */
export class FrameCutter {
  readonly #maxBytes: number;
  readonly #onFrame: (frame: Uint8Array) => void;
  #rest: Uint8Array | undefined;

  constructor(maxBytes: number, onFrame: (frame: Uint8Array) => void) {
    this.#maxBytes = maxBytes;
    this.#onFrame = onFrame;
  }

  /** False for a frame that is too long: nothing after it can be read. */
  push(chunk: Uint8Array): boolean {
    let bytes = this.#rest ? joined(this.#rest, chunk) : chunk;
    while (bytes.length >= FRAME_HEADER_BYTES) {
      const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
      if (length > this.#maxBytes) return false;
      const end = FRAME_HEADER_BYTES + length;
      if (bytes.length < end) break;
      // Never a Buffer, whose slice() and toJSON() are others than those of a Uint8Array.
      this.#onFrame(new Uint8Array(bytes.buffer, bytes.byteOffset + FRAME_HEADER_BYTES, length));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes.length > 0 ? bytes : undefined;
    return true;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
