import type { CborValue } from './cbor.ts';
import { type Place, refuse, type WireType } from './message-type.ts';

/** A type whose values travel as they are. */
function plain<Value extends CborValue>(check: (value: unknown, at: Place) => Value): WireType<Value> {
  return { toCbor: check, fromCbor: check };
}

interface TextBounds {
  /** Least UTF-8 bytes; 1 when absent. */
  readonly min?: number;
  /** Most UTF-8 bytes. */
  readonly max: number;
  readonly pattern?: RegExp;
}

/** Text within bounds. */
export function text({ min = 1, max, pattern }: TextBounds): WireType<string> {
  return plain((value, at) => {
    if (typeof value !== 'string') return refuse(at, 'is not text');
    // No character has more than three bytes in UTF-8 for each unit of its length: most texts need no counting.
    const length = value.length * 3 > max ? Buffer.byteLength(value) : value.length;
    if (length < min || length > max) return refuse(at, `is not text of ${min} to ${max} bytes`);
    if (pattern && !pattern.test(value)) return refuse(at, `is not of the form ${pattern.source}`);
    return value;
  });
}

interface IntegerBounds {
  readonly min?: number;
  readonly max?: number;
}

/** A whole number from `min` (0 when absent) to `max` (2^53 − 1 when absent). */
export function uint({ min = 0, max = Number.MAX_SAFE_INTEGER }: IntegerBounds = {}): WireType<number> {
  return plain((value, at) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    return refuse(at, `is not a whole number from ${min} to ${max}`);
  });
}

/** True or false. */
export const bool: WireType<boolean> = plain((value, at) => (typeof value === 'boolean' ? value : refuse(at, 'is not true or false')));

/** Text of at most 256 bytes, a whole number, true or false. */
export const scalar: WireType<string | number | boolean> = plain((value, at) => {
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return value as boolean | number;
  if (typeof value === 'string' && Buffer.byteLength(value) <= 256) return value;
  return refuse(at, 'is not text of at most 256 bytes, a whole number, true or false');
});

interface ByteBounds {
  readonly min?: number;
  readonly max: number;
}

/** A byte string of `min` (0 when absent) to `max` bytes, in memory of its own. */
export function bytes({ min = 0, max }: ByteBounds): WireType<Uint8Array> {
  const check = (value: unknown, at: Place): Uint8Array => requireBytes(value, at, { min, max });
  // What is kept of a message must not keep the whole of it alive.
  return { toCbor: check, fromCbor: (value, at) => new Uint8Array(check(value, at)) };
}

/** A byte string of `min` to `max` bytes; VALIDATION_ERROR otherwise. */
export function requireBytes(value: unknown, at: Place, { min = 0, max }: ByteBounds): Uint8Array {
  if (!(value instanceof Uint8Array)) return refuse(at, 'is not a byte string');
  if (value.length >= min && value.length <= max) return value;
  return refuse(at, min === max ? `is not ${max} bytes` : `is not ${min} to ${max} bytes`);
}

/** One of a few names, each with the number that stands for it on the wire. */
export function choice<Name extends string>(numbers: Readonly<Record<Name, number>>): WireType<Name> {
  const names = Object.keys(numbers) as Name[];
  const byNumber = new Map<unknown, Name>(names.map((name) => [numbers[name], name]));
  const problem = `is none of ${names.join(', ')}`;
  return {
    toCbor: (value, at) => (names.includes(value) ? numbers[value] : refuse(at, problem)),
    fromCbor: (value, at) => byNumber.get(value) ?? refuse(at, problem),
  };
}
