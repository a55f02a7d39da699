/** Reads bytes and numbers from a part of a WebAssembly module (binary format: core specification, chapter 5). */
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

  /** Returns the next unsigned LEB128 number. */
  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
  }

  /** Skips this many LEB128 numbers, signed or unsigned. */
  skipNumbers(count: number): void {
    for (let left = count; left > 0; ) if ((this.byte() & 0x80) === 0) left--;
  }

  skip(length: number): void {
    this.at += length;
  }
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** The first bytes of every WebAssembly module. */
export const WASM_MAGIC: Uint8Array = Uint8Array.from(MAGIC);

/** Returns the contents of a module's sections by section id (5.5.2). Returns undefined if the bytes are no module. */
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

/** Returns a number as unsigned LEB128. */
export function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...unsigned(Math.floor(value / 0x80))];
}

/** Returns a non-negative number as signed LEB128. */
export function signed(value: number): readonly number[] {
  return value < 0x40 ? [value] : [(value % 0x80) | 0x80, ...signed(Math.floor(value / 0x80))];
}

/** Ranges of instruction codes. After each instruction of a range, `count` LEB128 numbers follow (core specification, 5.4). */
const IMMEDIATE_COUNTS: readonly (readonly [first: number, last: number, count: number])[] = [
  [0x00, 0x01, 0], // unreachable, nop
  [0x02, 0x04, 1], // block, loop, if
  [0x05, 0x05, 0], // else
  [0x0b, 0x0b, 0], // end
  [0x0c, 0x0d, 1], // br, br_if
  [0x0f, 0x0f, 0], // return
  [0x10, 0x10, 1], // call
  [0x11, 0x11, 2], // call_indirect
  [0x12, 0x12, 1], // return_call
  [0x13, 0x13, 2], // return_call_indirect
  [0x1a, 0x1b, 0], // drop, select
  [0x20, 0x26, 1], // locals, globals, tables
  [0x28, 0x3e, 2], // loads and stores
  [0x3f, 0x42, 1], // memory.size, memory.grow, i32.const, i64.const
  [0x45, 0xc4, 0], // comparisons, arithmetic, conversions
  [0xd1, 0xd1, 0], // ref.is_null
  [0xd2, 0xd2, 1], // ref.func
];
const BR_TABLE = 0x0e;
const SELECT_OF_TYPE = 0x1c;
const REF_NULL = 0xd0;
const F32_CONST = 0x43;
const F64_CONST = 0x44;
const EXTENDED_OPCODE = 0xfc;
/** Number of LEB128 values after each 0xfc instruction. 0 to 7: saturating conversions. From 8: memory.init, data.drop … table.fill. */
const EXTENDED_IMMEDIATE_COUNTS = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];
/** Types that are one byte long: i32, i64, f32, f64, funcref and externref. Other reference types are longer. */
export const ONE_BYTE_TYPES: readonly number[] = [0x7f, 0x7e, 0x7d, 0x7c, 0x70, 0x6f];
/** First bytes of block types that are references. Further numbers follow such a byte. */
const REFERENCE_TYPES = [0x63, 0x64];
/** Bit in the alignment of a load or store. If the bit is set, the index of a memory follows. */
const OTHER_MEMORY = 0x40;

/** Skips the local variables of a function. Returns false if a type is unknown. */
export function skipLocals(bytes: WasmReader): boolean {
  for (let left = bytes.number(); left > 0; left--) {
    bytes.skipNumbers(1);
    if (!skipTypes(1, bytes)) return false;
  }
  return true;
}

/** Skips the immediates of an instruction. Returns false if the instruction is unknown. */
export function skipImmediates(instruction: number, bytes: WasmReader): boolean {
  if (instruction === F32_CONST) bytes.skip(4);
  else if (instruction === F64_CONST) bytes.skip(8);
  else if (instruction === BR_TABLE) bytes.skipNumbers(bytes.number() + 1);
  else if (instruction === SELECT_OF_TYPE) return skipTypes(bytes.number(), bytes);
  else if (instruction === REF_NULL) return skipTypes(1, bytes);
  else return skipNumbers(instruction, bytes);
  return true;
}

function skipTypes(count: number, bytes: WasmReader): boolean {
  for (let left = count; left > 0; left--) if (!ONE_BYTE_TYPES.includes(bytes.byte())) return false;
  return true;
}

function skipNumbers(instruction: number, bytes: WasmReader): boolean {
  const next = bytes.bytes[bytes.at] ?? 0;
  const isBlock = instruction >= 0x02 && instruction <= 0x04;
  const isAccess = instruction >= 0x28 && instruction <= 0x3e;
  if ((isBlock && REFERENCE_TYPES.includes(next)) || (isAccess && (next & OTHER_MEMORY) !== 0)) return false;
  const count =
    instruction === EXTENDED_OPCODE
      ? EXTENDED_IMMEDIATE_COUNTS[bytes.number()]
      : IMMEDIATE_COUNTS.find(([first, last]) => instruction >= first && instruction <= last)?.[2];
  if (count === undefined) return false;
  bytes.skipNumbers(count);
  return true;
}
