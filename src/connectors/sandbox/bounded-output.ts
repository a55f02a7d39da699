import type { Readable } from 'node:stream';

/** What a program prints, kept up to a limit that counts for all its streams together. */
export class BoundedOutput {
  readonly #maxBytes: number;
  readonly #onExceeded: () => void;
  #bytes = 0;

  constructor(maxBytes: number, onExceeded: () => void) {
    this.#maxBytes = maxBytes;
    this.#onExceeded = onExceeded;
  }

  /** Reads a stream as UTF-8; the function answers what has come. */
  collect(stream: Readable): () => string {
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => {
      this.#bytes += part.length;
      if (this.#bytes <= this.#maxBytes) parts.push(part);
      else this.#onExceeded();
    });
    return () => Buffer.concat(parts).toString('utf8');
  }
}
