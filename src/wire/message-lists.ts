import type { CborValue } from './cbor.ts';
import { type Place, refuse, type WireType } from './message-type.ts';

interface ListBounds {
  readonly min?: number;
  readonly max: number;
}

/** A list of `min` (0 when absent) to `max` items. */
export function list<Item>(type: WireType<Item>, { min = 0, max }: ListBounds): WireType<readonly Item[]> {
  const check = <Value>(value: readonly Value[], at: Place): readonly Value[] => {
    if (!Array.isArray(value)) return refuse(at, 'is not a list');
    return value.length >= min && value.length <= max ? value : refuse(at, `does not have ${min} to ${max} items`);
  };
  return {
    toCbor: (items, at) => check(items, at).map((item, step) => type.toCbor(item, { within: at, step })),
    fromCbor: (value, at) => check(value as readonly CborValue[], at).map((item, step) => type.fromCbor(item, { within: at, step })),
  };
}

/** A map with at most `max` names as its keys. */
export function record<Value>(
  name: WireType<string>,
  type: WireType<Value>,
  { max }: { readonly max: number },
): WireType<Readonly<Record<string, Value>>> {
  const requireSize = (size: number, at: Place): void => {
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
