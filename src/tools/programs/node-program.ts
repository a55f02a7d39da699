const BYTES_PER_MB = 1_048_576;
/** V8 needs this much before it runs anything. */
const MIN_HEAP_MB = 8;

/** What a Node takes that does nothing, in bytes. */
export const NODE_BYTES = 64 * BYTES_PER_MB;

/**
 * Arguments for Node to run the text of an ES module. Given on the command line: the program ships as one bundle, in which a file of
 * its own would have no place.
 */
export function nodeArguments(program: string, maxMemoryBytes: number): readonly string[] {
  const heapMb = Math.max(MIN_HEAP_MB, Math.floor(maxMemoryBytes / BYTES_PER_MB));
  return [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=1', '--input-type=module', '--eval', program];
}
