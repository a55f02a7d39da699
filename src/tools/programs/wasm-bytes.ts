/** Reads the binary format of WebAssembly (core specification, 5) from one place to another. */
export class WasmReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array, at: number, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  byte(): number {
    return this.bytes[this.at++] ?? 0;
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

  /** Passes over numbers in LEB128, with or without a sign. */
  skipNumbers(count: number): void {
    for (let left = count; left > 0; ) if ((this.byte() & 0x80) === 0) left--;
  }

  skip(length: number): void {
    this.at += length;
  }
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** What a module begins with. */
export const WASM_MAGIC: Uint8Array = Uint8Array.from(MAGIC);

/** The contents of a module's sections by their id (5.5.2); undefined for what is no module. */
export function wasmSections(code: Uint8Array): ReadonlyMap<number, WasmReader> | undefined {
  if (MAGIC.some((byte, index) => code[index] !== byte)) return undefined;
  const reader = new WasmReader(code, MAGIC.length);
  const sections = new Map<number, WasmReader>();
  while (!reader.isAtEnd) {
    const id = reader.byte();
    const length = reader.number();
    sections.set(id, new WasmReader(code, reader.at, reader.at + length));
    reader.skip(length);
  }
  return sections;
}

/** A number in LEB128 without a sign. */
export function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...unsigned(Math.floor(value / 0x80))];
}

/** A number that is not negative, in LEB128 with a sign. */
export function signed(value: number): readonly number[] {
  return value < 0x40 ? [value] : [(value % 0x80) | 0x80, ...signed(Math.floor(value / 0x80))];
}
