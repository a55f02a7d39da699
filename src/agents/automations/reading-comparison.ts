import type { ReadingValue } from '../../core/devices/reading-store.ts';
import { FORMER_WORDS } from '../../core/devices/value-words.ts';

interface Comparison {
  readonly above?: number;
  readonly below?: number;
  readonly equals?: number | string | boolean;
}

/**
 * Is the value on the side that is asked for? `slack` is how far it may go back and still count, for a value that was
 * there before. Sensors say on and off as booleans or as 1 and 0: both are the same, and so are a former word of a value and its
 * word of today.
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
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'string' && Object.hasOwn(FORMER_WORDS, value) ? (FORMER_WORDS[value] ?? value) : value;
}
