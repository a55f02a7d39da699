/** The input that a thread works at, in memory that another thread can read while a parser does not end. */
export class SharedInput {
  static readonly BYTES = 1_048_576;
  readonly #head: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, 2);
    this.#bytes = new Uint8Array(memory, 8);
  }

  set(input: Uint8Array): void {
    this.#bytes.set(input.subarray(0, this.#bytes.length));
    this.#head[1] = Math.min(input.length, this.#bytes.length);
    this.#head[0] = ((this.#head[0] ?? 0) + 1) | 0;
  }

  /** How many inputs were begun. */
  get count(): number {
    return this.#head[0] ?? 0;
  }

  get(): Uint8Array {
    return this.#bytes.slice(0, this.#head[1]);
  }
}
