/** The binary format of WebAssembly (core specification, 5.5), as far as the bounds of memories need it. */

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const MEMORY_SECTION = 5;
const HAS_MAXIMUM = 1;
const PAGE_BYTES = 65_536;

/**
 * The most bytes that the memories of a module can grow to; infinite where one names no maximum, undefined for what is no module.
 */
export function mostMemoryBytes(code: Uint8Array): number | undefined {
  if (MAGIC.some((byte, index) => code[index] !== byte)) return undefined;
  const bytes = new ByteReader(code, MAGIC.length);
  while (!bytes.isAtEnd) {
    const section = bytes.byte();
    const length = bytes.number();
    if (section === MEMORY_SECTION) return memories(bytes);
    bytes.skip(length);
  }
  return 0;
}

function memories(bytes: ByteReader): number {
  let most = 0;
  for (let left = bytes.number(); left > 0 && !bytes.isAtEnd; left--) {
    const flags = bytes.byte();
    bytes.number();
    most += (flags & HAS_MAXIMUM) === 0 ? Number.POSITIVE_INFINITY : bytes.number() * PAGE_BYTES;
  }
  return most;
}

class ByteReader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  /** LEB128 without a sign. */
  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
  }

  skip(length: number): void {
    this.#at += length;
  }
}
