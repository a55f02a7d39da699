import { AtmoError } from '../../core/errors.ts';
import { signed, unsigned, WASM_MAGIC, WasmReader, wasmSections } from './wasm-bytes.ts';
import { skipImmediates, skipLocals } from './wasm-instructions.ts';

/** The exported global (i64) that holds what is left; below 0 the module was ended. */
export const FUEL_GLOBAL = 'atmo:fuel';

const IMPORT = 2;
const GLOBAL = 6;
const EXPORT = 7;
const CODE = 10;
/** Sections in the order that the specification wants (5.5.2); custom ones, which hold names, are left out. */
const ORDER = [1, IMPORT, 3, 4, 5, 13, GLOBAL, EXPORT, 8, 9, 12, CODE, 11];
const BLOCK = 0x02;
const LOOP = 0x03;
const IF = 0x04;
const END = 0x0b;

/**
 * The same module, which traps after `maxFuel` instructions. What a function has outside of loops is paid as it begins, what a loop has
 * as each round begins, taken or not: the same call costs the same each time, and never less than it runs. CONFIG_INVALID for modules
 * that are not valid, import something, or use SIMD, threads, exceptions or managed memory.
 */
export function meteredModule(code: Uint8Array, maxFuel: number): Uint8Array {
  // What names a global that only the metered module has must not become valid by it.
  if (!isValid(code)) throw invalid('the module is not valid');
  const contents = wasmSections(code) ?? new Map<number, WasmReader>();
  if ((contents.get(IMPORT)?.number() ?? 0) > 0) throw invalid('a module with max_fuel imports nothing');
  const globals = contents.get(GLOBAL);
  const count = globals?.number() ?? 0;
  const exported = contents.get(EXPORT);
  const name = new TextEncoder().encode(FUEL_GLOBAL);
  const parts = new Map<number, Uint8Array>([...contents].map(([id, content]) => [id, rest(content)]));
  parts.set(GLOBAL, joined([unsigned(count + 1), rest(globals), [0x7e, 0x01, 0x42, ...signed(maxFuel), END]]));
  const exports = exported?.number() ?? 0;
  parts.set(EXPORT, joined([unsigned(exports + 1), rest(exported), unsigned(name.length), name, [0x03, ...unsigned(count)]]));
  const functions = contents.get(CODE);
  if (functions) parts.set(CODE, meteredCode(functions, count));
  const sections = ORDER.flatMap((id) => {
    const part = parts.get(id);
    return part && id !== IMPORT ? [[id, ...unsigned(part.length)], part] : [];
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
  /** Before what it is for. */
  readonly at: number;
  instructions: number;
}

function meteredBody(body: WasmReader, global: number): Uint8Array {
  const { bytes, at: start, end } = body;
  if (!skipLocals(body)) throw invalid('max_fuel knows no local variables of managed memory or SIMD; compile without them');
  const parts: Bytes[] = [];
  let from = start;
  for (const { at, instructions } of chargesOf(body)) {
    parts.push(bytes.subarray(from, at), payment(global, instructions));
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
    if (!skipImmediates(instruction, body)) throw invalid(`max_fuel knows no instruction ${instruction.toString(16)}; compile without it`);
    if (instruction === LOOP) {
      const round: Charge = { at: body.at, instructions: 0 };
      charges.push(round);
      open.push(round);
    } else if (instruction === BLOCK || instruction === IF) open.push(charge);
    else if (instruction === END) open.pop();
  }
  return charges;
}

/** fuel = fuel - instructions; if (fuel < 0) unreachable. */
function payment(global: number, instructions: number): readonly number[] {
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

function rest(content: WasmReader | undefined): Uint8Array {
  return content ? content.bytes.subarray(content.at, content.end) : new Uint8Array();
}

function isValid(code: Uint8Array): boolean {
  const api = Reflect.get(globalThis, 'WebAssembly') as { validate(code: Uint8Array): boolean };
  return api.validate(code);
}

function invalid(problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', problem);
}
