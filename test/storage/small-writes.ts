import { writeSync } from 'node:fs';
import type { WriteBytes } from '../../src/core/files/file-system.ts';

interface SmallWrites {
  /** How many bytes each of the next writes takes; the rest are whole. */
  readonly takes: number[];
  readonly write: WriteBytes;
}

/** A disk that is nearly full: it takes a part of what it is given, without an error. */
export function smallWrites(): SmallWrites {
  const takes: number[] = [];
  const write: WriteBytes = (descriptor, bytes, offset, _length, position) => {
    const taken = bytes.subarray(offset, offset + (takes.shift() ?? bytes.length));
    return taken.length === 0 ? 0 : writeSync(descriptor, taken, 0, taken.length, position);
  };
  return { takes, write };
}
