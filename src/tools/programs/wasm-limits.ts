import { invalidConfig } from '../../core/errors.ts';
import { ONE_BYTE_TYPES, signed, skipImmediates, skipLocals, unsigned, WASM_MAGIC, WasmReader, wasmSections } from './wasm-format.ts';

/** Name of the exported global (i64) with the remaining fuel. A negative value means that the module ran out of fuel. */
export const FUEL_GLOBAL = 'atmo:fuel';

const IMPORT_SECTION = 2;
const GLOBAL_SECTION = 6;
const EXPORT_SECTION = 7;
const CODE_SECTION = 10;
/** Order of the sections in a module (core specification, 5.5.2). Custom sections, which have names, may be anywhere. */
const SECTION_ORDER = [1, IMPORT_SECTION, 3, 4, 5, 13, GLOBAL_SECTION, EXPORT_SECTION, 8, 9, 12, CODE_SECTION, 11];
const BLOCK = 0x02;
const LOOP = 0x03;
const IF = 0x04;
const END = 0x0b;

/**
 * Returns the module with checks that trap after about `maxFuel` instructions. At its start, a function pays for all instructions outside
 * of loops. Each iteration of a loop pays for the loop's body. So equal calls cost the same, and no call costs less than the instructions
 * that it runs. Throws CONFIG_INVALID if the module is invalid, has imports, or uses SIMD, threads, exceptions or managed memory.
 */
export function meteredModule(code: Uint8Array, maxFuel: number): Uint8Array {
  // The module must be valid before the change. Otherwise it could use the global that the change adds.
  if (!isValid(code)) throw invalidConfig('the module is not valid');
  const contents = wasmSections(code) ?? new Map<number, WasmReader>();
  if ((contents.get(IMPORT_SECTION)?.number() ?? 0) > 0) throw invalidConfig('a module with max_fuel imports nothing');
  const globals = contents.get(GLOBAL_SECTION);
  const count = globals?.number() ?? 0;
  const exported = contents.get(EXPORT_SECTION);
  const name = new TextEncoder().encode(FUEL_GLOBAL);
  const parts = new Map<number, Uint8Array>([...contents].map(([id, content]) => [id, remainingBytes(content)]));
  parts.set(GLOBAL_SECTION, joined([unsigned(count + 1), remainingBytes(globals), [0x7e, 0x01, 0x42, ...signed(maxFuel), END]]));
  const exports = exported?.number() ?? 0;
  parts.set(
    EXPORT_SECTION,
    joined([unsigned(exports + 1), remainingBytes(exported), unsigned(name.length), name, [0x03, ...unsigned(count)]]),
  );
  const functions = contents.get(CODE_SECTION);
  if (functions) parts.set(CODE_SECTION, meteredCode(functions, count));
  const sections = SECTION_ORDER.flatMap((id) => {
    const part = parts.get(id);
    return part && id !== IMPORT_SECTION ? [[id, ...unsigned(part.length)], part] : [];
  });
  return joined([WASM_MAGIC, ...sections]);
}

function meteredCode(code: WasmReader, global: number): Uint8Array {
  const count = code.number();
  const bodies: Bytes[] = [unsigned(count)];
  for (let left = count; left > 0; left--) {
    const length = code.number();
    const body = meteredBody(new WasmReader(code.bytes, code.at, code.at + length), global);
    bodies.push(unsigned(body.length), body);
    code.skip(length);
  }
  return joined(bodies);
}

interface Charge {
  /** Offset of the instruction before which the check of the fuel is inserted. */
  readonly at: number;
  instructions: number;
}

function meteredBody(body: WasmReader, global: number): Uint8Array {
  const { bytes, at: start, end } = body;
  if (!skipLocals(body)) throw invalidConfig('max_fuel knows no local variables of managed memory or SIMD; compile without them');
  const parts: Bytes[] = [];
  let from = start;
  for (const { at, instructions } of chargesOf(body)) {
    parts.push(bytes.subarray(from, at), fuelCheck(global, instructions));
    from = at;
  }
  return joined([...parts, bytes.subarray(from, end)]);
}

function chargesOf(body: WasmReader): readonly Charge[] {
  const whole: Charge = { at: body.at, instructions: 0 };
  const charges = [whole];
  const open = [whole];
  while (!body.isAtEnd) {
    const instruction = body.byte();
    const charge = open.at(-1) ?? whole;
    charge.instructions += 1;
    if (!skipImmediates(instruction, body))
      throw invalidConfig(`max_fuel knows no instruction ${instruction.toString(16)}; compile without it`);
    if (instruction === LOOP) {
      const round: Charge = { at: body.at, instructions: 0 };
      charges.push(round);
      open.push(round);
    } else if (instruction === BLOCK || instruction === IF) open.push(charge);
    else if (instruction === END) open.pop();
  }
  return charges;
}

/** Returns the instructions that subtract `instructions` from the fuel and trap if the fuel is then negative. */
function fuelCheck(global: number, instructions: number): readonly number[] {
  const fuel = unsigned(global);
  const [get, set] = [
    [0x23, ...fuel],
    [0x24, ...fuel],
  ];
  return [...get, 0x42, ...signed(instructions), 0x7d, ...set, ...get, 0x42, 0x00, 0x53, IF, 0x40, 0x00, END];
}

type Bytes = readonly number[] | Uint8Array;

function joined(parts: readonly Bytes[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function remainingBytes(content: WasmReader | undefined): Uint8Array {
  return content ? content.bytes.subarray(content.at, content.end) : new Uint8Array();
}

function isValid(code: Uint8Array): boolean {
  const api = Reflect.get(globalThis, 'WebAssembly') as { validate(code: Uint8Array): boolean };
  return api.validate(code);
}

const TYPE_SECTION = 1;
const TABLE_SECTION = 4;
const FUNCTION_TYPE = 0x60;
const V128 = 0x7b;
const TABLE_HAS_MAXIMUM = 1;
const MAX_TABLE_ENTRIES = 100_000;

/**
 * Returns a message for the module's author if the module's tables or objects could use unlimited memory of the engine (core specification,
 * 5.3 and 5.5); otherwise undefined. Such a module must be refused: if memory runs out, the engine ends the whole process.
 */
export function engineHeapProblem(code: Uint8Array): string | undefined {
  const sections = wasmSections(code);
  const [types, tables] = [sections?.get(TYPE_SECTION), sections?.get(TABLE_SECTION)];
  if (types && !areFunctionTypes(types)) return 'it has types of managed memory; compile without them';
  if (tables && !(tableEntries(tables) <= MAX_TABLE_ENTRIES)) {
    return `its tables can grow beyond ${MAX_TABLE_ENTRIES} entries; give them a maximum`;
  }
  return undefined;
}

function areFunctionTypes(types: WasmReader): boolean {
  for (let left = types.number(); left > 0; left--) {
    if (types.byte() !== FUNCTION_TYPE || !areValueTypes(types) || !areValueTypes(types)) return false;
  }
  return true;
}

function areValueTypes(types: WasmReader): boolean {
  for (let left = types.number(); left > 0; left--) if (![...ONE_BYTE_TYPES, V128].includes(types.byte())) return false;
  return true;
}

/** Returns the sum of the tables' maximum entries; infinite if a table has no maximum or an unknown form. */
function tableEntries(tables: WasmReader): number {
  let most = 0;
  for (let left = tables.number(); left > 0; left--) {
    const isKnown = ONE_BYTE_TYPES.includes(tables.byte());
    const flags = tables.byte();
    tables.number();
    most += isKnown && (flags & TABLE_HAS_MAXIMUM) !== 0 ? tables.number() : Number.POSITIVE_INFINITY;
    if (most > MAX_TABLE_ENTRIES) return most;
  }
  return most;
}

/** Id of the memory section in WebAssembly's binary format (core specification, 5.5). */

const MEMORY_SECTION = 5;
const MEMORY_HAS_MAXIMUM = 1;
const PAGE_BYTES = 65_536;

/** Returns the maximum memory of a module in bytes: infinite if a memory has no maximum, undefined if the bytes are no module. */
export function moduleMemoryLimit(code: Uint8Array): number | undefined {
  const sections = wasmSections(code);
  const memory = sections?.get(MEMORY_SECTION);
  return memory ? memoryBytes(memory) : sections && 0;
}

function memoryBytes(bytes: WasmReader): number {
  let most = 0;
  for (let left = bytes.number(); left > 0 && !bytes.isAtEnd; left--) {
    const flags = bytes.byte();
    bytes.number();
    most += (flags & MEMORY_HAS_MAXIMUM) === 0 ? Number.POSITIVE_INFINITY : bytes.number() * PAGE_BYTES;
  }
  return most;
}
