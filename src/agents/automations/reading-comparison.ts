import type { ReadingValue } from '../../core/devices/reading-store.ts';

interface Comparison {
  readonly above?: number;
  readonly below?: number;
  readonly equals?: number | string | boolean;
}

/**
 * Is the value on the side that is asked for? `slack` is how far it may go back and still count, for a value that was
 * there before. Sensors say on and off as booleans or as 1 and 0: both are the same.
 */
export function compare({ above, below, equals }: Comparison, value: ReadingValue, slack = 0): boolean {
  if (equals !== undefined) return plain(value) === plain(equals);
  if (typeof value !== 'number') return false;
  if (above !== undefined) return value > above - slack;
  return below !== undefined && value < below + slack;
}

/** True for two values that say the same. */
export function isSameValue(one: ReadingValue, other: ReadingValue): boolean {
  return plain(one) === plain(other);
}

function plain(value: ReadingValue): number | string {
  return typeof value === 'boolean' ? Number(value) : value;
}
