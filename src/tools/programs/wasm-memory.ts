import { type WasmReader, wasmSections } from './wasm-bytes.ts';

/** The binary format of WebAssembly (core specification, 5.5), as far as the bounds of memories need it. */

const MEMORY_SECTION = 5;
const HAS_MAXIMUM = 1;
const PAGE_BYTES = 65_536;

/**
 * The most bytes that the memories of a module can grow to; infinite where one names no maximum, undefined for what is no module.
 */
export function mostMemoryBytes(code: Uint8Array): number | undefined {
  const sections = wasmSections(code);
  const memory = sections?.get(MEMORY_SECTION);
  return memory ? memories(memory) : sections && 0;
}

function memories(bytes: WasmReader): number {
  let most = 0;
  for (let left = bytes.number(); left > 0 && !bytes.isAtEnd; left--) {
    const flags = bytes.byte();
    bytes.number();
    most += (flags & HAS_MAXIMUM) === 0 ? Number.POSITIVE_INFINITY : bytes.number() * PAGE_BYTES;
  }
  return most;
}
