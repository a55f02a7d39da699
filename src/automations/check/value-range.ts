import { VALUE_ALIASES } from '../../core/devices/matter-names.ts';
import type { ReadingValue } from '../../core/devices/sensor-readings.ts';
import type { JsonObject } from '../../core/json.ts';

/** Numbers from `low` to `high`; an end that is `open` does not belong to them. */
interface Interval {
  readonly low: number;
  readonly high: number;
  readonly isLowOpen: boolean;
  readonly isHighOpen: boolean;
}

/** A set of values of a reading: intervals of numbers, and texts: only the named ones, or all but these. */
export interface ValueRange {
  readonly numbers: readonly Interval[];
  readonly texts: { readonly isExcept: boolean; readonly names: ReadonlySet<string> };
}

const NO_TEXT = { isExcept: false, names: new Set<string>() };
const ANY_TEXT = { isExcept: true, names: new Set<string>() };
const LINE: Interval = { low: -Infinity, high: Infinity, isLowOpen: true, isHighOpen: true };

export const ANY_VALUE: ValueRange = { numbers: [LINE], texts: ANY_TEXT };

/** A comparison of a trigger or condition. */
export interface ValueComparison {
  readonly above?: number;
  readonly below?: number;
  readonly equals?: ReadingValue;
}

/** Returns the values that meet a comparison; all values for one that compares nothing. */
export function rangeOf({ above, below, equals }: ValueComparison): ValueRange {
  if (equals !== undefined) return exactly(equals);
  if (above !== undefined) return { numbers: [{ ...LINE, low: above }], texts: NO_TEXT };
  return below === undefined ? ANY_VALUE : { numbers: [{ ...LINE, high: below }], texts: NO_TEXT };
}

/** Returns the numbers from `low` to `high`, both included. */
export function between(low = -Infinity, high = Infinity): ValueRange {
  return { numbers: [{ low, high, isLowOpen: false, isHighOpen: false }], texts: NO_TEXT };
}

/** Returns the range with a single value. `true` and `false` are the numbers 1 and 0, and a former name is the current one. */
export function exactly(value: ReadingValue): ValueRange {
  const plain = plainValue(value);
  if (typeof plain === 'string') return { numbers: [], texts: { isExcept: false, names: new Set([plain]) } };
  return between(plain, plain);
}

function plainValue(value: ReadingValue): number | string {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'string' && Object.hasOwn(VALUE_ALIASES, value) ? (VALUE_ALIASES[value] ?? value) : value;
}

/** Returns the only value of a range; undefined for a range with several values or none. */
export function singleValue({ numbers, texts }: ValueRange): number | string | undefined {
  const [number] = numbers;
  if (numbers.length === 1 && number && number.low === number.high && !texts.isExcept && texts.names.size === 0) return number.low;
  return numbers.length === 0 && !texts.isExcept && texts.names.size === 1 ? [...texts.names][0] : undefined;
}

export function isNoValue({ numbers, texts }: ValueRange): boolean {
  return numbers.length === 0 && !texts.isExcept && texts.names.size === 0;
}

export function commonRange(a: ValueRange, b: ValueRange): ValueRange {
  if (a === ANY_VALUE) return b;
  if (b === ANY_VALUE) return a;
  const numbers = a.numbers.flatMap((one) => b.numbers.flatMap((other) => overlap(one, other) ?? []));
  return { numbers, texts: commonTexts(a.texts, b.texts) };
}

export function joinedRange(a: ValueRange, b: ValueRange): ValueRange {
  return otherValues(commonRange(otherValues(a), otherValues(b)));
}

/** Returns all values that are not in the range. */
export function otherValues({ numbers, texts }: ValueRange): ValueRange {
  const gaps = numbers.reduce<readonly Interval[]>(
    (left, { low, high, isLowOpen, isHighOpen }) => {
      const outside = [
        { ...LINE, high: low, isHighOpen: !isLowOpen },
        { ...LINE, low: high, isLowOpen: !isHighOpen },
      ];
      return left.flatMap((one) => outside.flatMap((other) => overlap(one, other) ?? []));
    },
    [LINE],
  );
  return { numbers: gaps, texts: { isExcept: !texts.isExcept, names: texts.names } };
}

/** Returns whether each value of `inner` is in `outer`. */
export function isWithin(inner: ValueRange, outer: ValueRange): boolean {
  return isNoValue(commonRange(inner, otherValues(outer)));
}

/** Returns whether both ranges are limits in the same direction, such as above 25 and above 28. */
export function areStages(a: ValueRange, b: ValueRange): boolean {
  const [one, other] = [directionOf(a), directionOf(b)];
  return one !== undefined && one === other;
}

/** Returns `up` for numbers above a limit, `down` for numbers below one, and undefined for other ranges. */
export function directionOf({ numbers, texts }: ValueRange): 'up' | 'down' | undefined {
  const [line] = numbers;
  if (!line || numbers.length > 1 || texts.isExcept || texts.names.size > 0) return undefined;
  if (line.high === Infinity && line.low > -Infinity) return 'up';
  return line.low === -Infinity && line.high < Infinity ? 'down' : undefined;
}

function overlap(a: Interval, b: Interval): Interval | undefined {
  const [lower, upper] = [Math.max(a.low, b.low), Math.min(a.high, b.high)];
  const isLowOpen = [a, b].some((one) => one.low === lower && one.isLowOpen);
  const isHighOpen = [a, b].some((one) => one.high === upper && one.isHighOpen);
  if (lower > upper || (Math.abs(lower) === Infinity && lower === upper)) return undefined;
  if (lower === upper && (isLowOpen || isHighOpen)) return undefined;
  return { low: lower, high: upper, isLowOpen, isHighOpen };
}

function commonTexts(a: ValueRange['texts'], b: ValueRange['texts']): ValueRange['texts'] {
  if (a.isExcept && b.isExcept) return { isExcept: true, names: a.names.union(b.names) };
  if (a.isExcept) return { isExcept: false, names: b.names.difference(a.names) };
  return { isExcept: false, names: b.isExcept ? a.names.difference(b.names) : a.names.intersection(b.names) };
}

/** Returns the range of numbers in words, such as `above 25` or `20 to 22`; texts one after the other. */
export function rangeText(range: ValueRange): string {
  const { numbers, texts } = range;
  const names = texts.isExcept ? (texts.names.size > 0 ? [`not ${[...texts.names].join(' or ')}`] : []) : [...texts.names];
  return [...numbers.map(intervalText), ...names].join(' or ') || 'no value';
}

/** Returns the range as facts: stretches from and to a number, single values, and values that it does not have. */
export function rangeFact({ numbers, texts }: ValueRange): readonly JsonObject[] {
  const stretches = numbers.map(({ low, high }) => ({ ...(low !== -Infinity && { from: low }), ...(high !== Infinity && { to: high }) }));
  const names = [...texts.names].map((name) => (texts.isExcept ? { except: name } : { value: name }));
  return [...stretches, ...names];
}

function intervalText({ low, high }: Interval): string {
  if (low === high) return String(low);
  if (low === -Infinity) return high === Infinity ? 'any value' : `below ${high}`;
  return high === Infinity ? `above ${low}` : `${low} to ${high}`;
}
