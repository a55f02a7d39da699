/** Bytes that come in pieces of any size, taken in pieces of a wanted one. */
export class ByteQueue {
  readonly #source: AsyncIterator<Uint8Array>;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** So many bytes; fewer, or none, where the source ends before. */
  async take(count: number): Promise<Buffer> {
    while (this.#waitingBytes < count) {
      const next = await this.#source.next();
      if (next.done === true) break;
      this.#waiting.push(next.value);
      this.#waitingBytes += next.value.length;
    }
    const whole = Buffer.concat(this.#waiting);
    const rest = whole.subarray(count);
    this.#waiting = rest.length > 0 ? [rest] : [];
    this.#waitingBytes = rest.length;
    return whole.subarray(0, count);
  }

  /** What was not taken, as it comes. */
  async *rest(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const waiting = await this.take(Math.max(1, this.#waitingBytes));
      if (waiting.length === 0) return;
      yield waiting;
    }
  }
}
