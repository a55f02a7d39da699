import { AtmoError } from '../core/errors.ts';
import type { HubId } from '../core/ids.ts';
import type { CborValue } from './cbor.ts';

/** Path of a value in its message, innermost step first. */
export interface ValuePath {
  readonly within: ValuePath | undefined;
  /** Name of the message, of a member, or an index. */
  readonly step: string | number;
}

/** One kind of value with its CBOR form and bounds. Both directions throw VALIDATION_ERROR with the message and the member. */
export interface WireType<Value> {
  toCbor(value: Value, at: ValuePath): CborValue;
  fromCbor(value: CborValue, at: ValuePath): Value;
}

/** The values of a type. */
export type ValueOf<Type> = Type extends WireType<infer Value> ? Value : never;

/** Throws VALIDATION_ERROR, such as `Announcement refused: tools[3].hash is not 8 bytes`; details name message and member. */
export function refuse(at: ValuePath, problem: string): never {
  const [message = '', ...steps] = stepsTo(at);
  const member = steps.reduce<string>((path, step) => `${path}${typeof step === 'number' ? `[${step}]` : `${path && '.'}${step}`}`, '');
  throw new AtmoError('VALIDATION_ERROR', `${message} refused: ${member || 'it'} ${problem}`, { message, member });
}

function stepsTo(at: ValuePath): readonly (string | number)[] {
  const steps: (string | number)[] = [];
  for (let place: ValuePath | undefined = at; place; place = place.within) steps.unshift(place.step);
  return steps;
}

/** A type whose values are CBOR values. */
function plain<Value extends CborValue>(check: (value: unknown, at: ValuePath) => Value): WireType<Value> {
  return { toCbor: check, fromCbor: check };
}

interface Bounds {
  readonly min?: number;
  readonly max: number;
}

/** Text of `min` (1 when absent) to `max` UTF-8 bytes. */
export function text({ min = 1, max, pattern }: Bounds & { readonly pattern?: RegExp }): WireType<string> {
  return plain((value, at) => {
    if (typeof value !== 'string') return refuse(at, 'is not text');
    // A UTF-16 unit takes at most three bytes in UTF-8: most texts need no counting.
    const length = value.length * 3 > max ? Buffer.byteLength(value) : value.length;
    if (length < min || length > max) return refuse(at, `is not text of ${min} to ${max} bytes`);
    if (pattern && !pattern.test(value)) return refuse(at, `is not of the form ${pattern.source}`);
    return value;
  });
}

/** A whole number from `min` (0 when absent) to `max` (2^53 − 1 when absent). */
export function uint({ min = 0, max = Number.MAX_SAFE_INTEGER }: Partial<Bounds> = {}): WireType<number> {
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

/** A byte string of `min` (0 when absent) to `max` bytes. */
export function bytes(bounds: Bounds): WireType<Uint8Array> {
  return {
    toCbor: (value, at) => requireBytes(value, at, bounds),
    // A copy: a part of a message that is stored must not keep the memory of the whole message.
    fromCbor: (value, at) => new Uint8Array(requireBytes(value, at, bounds)),
  };
}

/** Returns the value if it is a byte string of `min` (0 when absent) to `max` bytes; throws VALIDATION_ERROR otherwise. */
export function requireBytes(value: unknown, at: ValuePath, { min = 0, max }: Bounds): Uint8Array {
  if (!(value instanceof Uint8Array)) return refuse(at, 'is not a byte string');
  if (value.length >= min && value.length <= max) return value;
  return refuse(at, min === max ? `is not ${max} bytes` : `is not ${min} to ${max} bytes`);
}

/** One of a few names, each with its number on the wire. */
export function choice<Name extends string>(numbers: Readonly<Record<Name, number>>): WireType<Name> {
  const names = Object.keys(numbers) as Name[];
  const byNumber = new Map<unknown, Name>(names.map((name) => [numbers[name], name]));
  const problem = `is none of ${names.join(', ')}`;
  return {
    toCbor: (value, at) => (names.includes(value) ? numbers[value] : refuse(at, problem)),
    fromCbor: (value, at) => byNumber.get(value) ?? refuse(at, problem),
  };
}

/** A list of `min` (0 when absent) to `max` items. */
export function list<Item>(type: WireType<Item>, { min = 0, max }: Bounds): WireType<readonly Item[]> {
  const check = <Value>(value: readonly Value[], at: ValuePath): readonly Value[] => {
    if (!Array.isArray(value)) return refuse(at, 'is not a list');
    return value.length >= min && value.length <= max ? value : refuse(at, `does not have ${min} to ${max} items`);
  };
  return {
    toCbor: (items, at) => check(items, at).map((item, step) => type.toCbor(item, { within: at, step })),
    fromCbor: (value, at) => check(value as readonly CborValue[], at).map((item, step) => type.fromCbor(item, { within: at, step })),
  };
}

/** A map with at most `max` names as its keys. */
export function record<Value>(name: WireType<string>, type: WireType<Value>, { max }: Bounds): WireType<Readonly<Record<string, Value>>> {
  const requireSize = (size: number, at: ValuePath): void => {
    if (size > max) refuse(at, `has more than ${max} members`);
  };
  return {
    toCbor: (members, at) => {
      const entries = Object.entries(members);
      requireSize(entries.length, at);
      return new Map(entries.map(([key, value]) => [key, type.toCbor(value, { within: at, step: key })]));
    },
    fromCbor: (value, at) => {
      if (!(value instanceof Map)) return refuse(at, 'is not a map');
      requireSize(value.size, at);
      const entries = [...(value as ReadonlyMap<CborValue, CborValue>)];
      // `fromEntries` makes own members also of names such as `__proto__`.
      return Object.fromEntries(
        entries.map(([key, item]) => [name.fromCbor(key, at), type.fromCbor(item, { within: at, step: String(key) })]),
      );
    },
  };
}

/** The type's values, or null. */
export function nullable<Value>(type: WireType<Value>): WireType<Value | null> {
  return {
    toCbor: (value, at) => (value === null ? null : type.toCbor(value, at)),
    fromCbor: (value, at) => (value === null ? null : type.fromCbor(value, at)),
  };
}

/** Up to this length, joining digits from a table is faster than a call of Buffer. */
const SHORT_BYTES = 16;
const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Bytes on the wire, lower-case hexadecimal text in TypeScript. */
export function hex(bounds: Bounds): WireType<string> {
  return textual({ ...bounds, encoding: 'hex' });
}

/** Bytes on the wire; base64url text without padding, behind a fixed prefix, in TypeScript. */
export function base64url(bounds: Bounds & { readonly prefix?: string }): WireType<string> {
  return textual({ ...bounds, encoding: 'base64url' });
}

/** A raw Ed25519 public key: 32 bytes, base64url text in TypeScript. */
export const publicKey: WireType<string> = base64url({ min: 32, max: 32 });
/** The id of a hub: the 8 bytes behind `hub-`. */
export const hubId = textual({ min: 8, max: 8, prefix: 'hub-', encoding: 'hex' }) as WireType<HubId>;
/** The id of a mesh: the 8 bytes behind `mesh-`. */
export const meshId: WireType<string> = textual({ min: 8, max: 8, prefix: 'mesh-', encoding: 'hex' });

interface TextForm extends Bounds {
  readonly prefix?: string;
  readonly encoding: 'hex' | 'base64url';
}

/** Bytes on the wire, text in TypeScript; each byte string has one text. */
function textual({ prefix = '', encoding, ...bounds }: TextForm): WireType<string> {
  const isShortHex = encoding === 'hex' && bounds.max <= SHORT_BYTES;
  const format = (bytes: Uint8Array): string => prefix + (isShortHex ? hexOf(bytes) : textOf(bytes, encoding));
  const parse = (value: unknown, at: ValuePath): Uint8Array => {
    const text = typeof value === 'string' ? value : refuse(at, 'is not text');
    const bytes = Uint8Array.from(Buffer.from(text.slice(prefix.length), encoding));
    if (format(bytes) !== text) return refuse(at, `is not ${prefix === '' ? '' : `${prefix} and `}${encoding}`);
    return requireBytes(bytes, at, bounds);
  };
  return { toCbor: parse, fromCbor: (value, at) => format(requireBytes(value, at, bounds)) };
}

function hexOf(bytes: Uint8Array): string {
  let digits = '';
  for (const byte of bytes) digits += HEX_OF_BYTE[byte];
  return digits;
}

function textOf(bytes: Uint8Array, encoding: 'hex' | 'base64url'): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding);
}
