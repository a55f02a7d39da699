import type { WasmReader } from './wasm-bytes.ts';

/** Codes from the first to the last, each followed by so many numbers in LEB128 (core specification, 5.4). */
const NUMBERS: readonly (readonly [first: number, last: number, count: number])[] = [
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
const FURTHER = 0xfc;
/** Behind 0xfc: saturating conversions, memory.init, data.drop, memory.copy, memory.fill, table.init … table.fill. */
const FURTHER_NUMBERS = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];
/** i32, i64, f32, f64, funcref, externref: one byte each, where other references take more than one number. */
export const ONE_BYTE_TYPES: readonly number[] = [0x7f, 0x7e, 0x7d, 0x7c, 0x70, 0x6f];
/** A block whose type is a reference takes more than one number. */
const REFERENCE_TYPES = [0x63, 0x64];
/** The alignment of a load or store has this bit where another memory than the first follows. */
const OTHER_MEMORY = 0x40;

/** Passes over the local variables of a function; false for types that are not known here. */
export function skipLocals(bytes: WasmReader): boolean {
  for (let left = bytes.number(); left > 0; left--) {
    bytes.skipNumbers(1);
    if (!skipTypes(1, bytes)) return false;
  }
  return true;
}

/** Passes over what follows the code of an instruction; false for instructions that are not known here. */
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
    instruction === FURTHER
      ? FURTHER_NUMBERS[bytes.number()]
      : NUMBERS.find(([first, last]) => instruction >= first && instruction <= last)?.[2];
  if (count === undefined) return false;
  bytes.skipNumbers(count);
  return true;
}
