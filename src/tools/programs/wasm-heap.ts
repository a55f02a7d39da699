import { type WasmReader, wasmSections } from './wasm-bytes.ts';
import { ONE_BYTE_TYPES } from './wasm-instructions.ts';

const TYPE_SECTION = 1;
const TABLE_SECTION = 4;
const FUNCTION_TYPE = 0x60;
const V128 = 0x7b;
const HAS_MAXIMUM = 1;
const MAX_TABLE_ENTRIES = 100_000;

/**
 * What of a module would lie in the memory of the engine itself (core specification, 5.3 and 5.5), in words for its author; undefined
 * where that is bounded. An engine that gets no memory for a table or an object of a module ends the whole process, not the thread.
 */
export function heapProblem(code: Uint8Array): string | undefined {
  const sections = wasmSections(code);
  const [types, tables] = [sections?.get(TYPE_SECTION), sections?.get(TABLE_SECTION)];
  if (types && !areFunctions(types)) return 'it has types of managed memory; compile without them';
  if (tables && !(entriesOf(tables) <= MAX_TABLE_ENTRIES)) {
    return `its tables can grow beyond ${MAX_TABLE_ENTRIES} entries; give them a maximum`;
  }
  return undefined;
}

function areFunctions(types: WasmReader): boolean {
  for (let left = types.number(); left > 0; left--) {
    if (types.byte() !== FUNCTION_TYPE || !areValues(types) || !areValues(types)) return false;
  }
  return true;
}

function areValues(types: WasmReader): boolean {
  for (let left = types.number(); left > 0; left--) if (![...ONE_BYTE_TYPES, V128].includes(types.byte())) return false;
  return true;
}

/** Of all tables at their largest; infinite for those without a maximum, and for tables of a form that is not known here. */
function entriesOf(tables: WasmReader): number {
  let most = 0;
  for (let left = tables.number(); left > 0; left--) {
    const isKnown = ONE_BYTE_TYPES.includes(tables.byte());
    const flags = tables.byte();
    tables.number();
    most += isKnown && (flags & HAS_MAXIMUM) !== 0 ? tables.number() : Number.POSITIVE_INFINITY;
    if (most > MAX_TABLE_ENTRIES) return most;
  }
  return most;
}
