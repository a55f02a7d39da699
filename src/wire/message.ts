import type { CborMap, CborValue } from './cbor.ts';
import { type Place, refuse, type WireType } from './message-type.ts';

/**
 * `required`: always there. `optional`: absent where it is undefined. `listed`: a list that does not travel when it is empty.
 */
type Presence = 'required' | 'optional' | 'listed';

/** A member of a message: its key on the wire, its type, and whether it may be absent. */
export interface Field<Value, Kind extends Presence> {
  readonly key: number;
  readonly type: WireType<Value>;
  readonly presence: Kind;
}

type Fields = Readonly<Record<string, Field<unknown, Presence>>>;
type FieldValue<Type> = Type extends Field<infer Value, Presence> ? Value : never;
type Flat<Type> = { readonly [Name in keyof Type]: Type[Name] };

/** The value of a table of fields. */
type Members<Table extends Fields> = Flat<
  {
    readonly [Name in keyof Table as Table[Name] extends Field<unknown, 'optional'> ? never : Name]: FieldValue<Table[Name]>;
  } & {
    readonly [Name in keyof Table as Table[Name] extends Field<unknown, 'optional'> ? Name : never]?: FieldValue<Table[Name]>;
  }
>;

/** A member that is always there. */
export function required<Value>(key: number, type: WireType<Value>): Field<Value, 'required'> {
  return { key, type, presence: 'required' };
}

/** A member that may be absent. */
export function optional<Value>(key: number, type: WireType<Value>): Field<Value, 'optional'> {
  return { key, type, presence: 'optional' };
}

/** A list that is always there and that travels only with items in it. */
export function listed<Item>(key: number, type: WireType<readonly Item[]>): Field<readonly Item[], 'listed'> {
  return { key, type, presence: 'listed' };
}

/** A CBOR map with integer keys; keys that the table does not have are refused. */
export function message<Table extends Fields>(table: Table): WireType<Members<Table>> {
  return new MessageType(table);
}

/** A CBOR array with the members in the order of their keys, which count from 0; only the last ones may be optional. */
export function tuple<Table extends Fields>(table: Table): WireType<Members<Table>> {
  return new TupleType(table);
}

interface NamedField {
  readonly name: string;
  readonly field: Field<unknown, Presence>;
}

class MessageType<Table extends Fields> implements WireType<Members<Table>> {
  readonly #fields: readonly NamedField[];
  readonly #keys: ReadonlySet<unknown>;

  constructor(table: Table) {
    this.#fields = Object.entries(table).map(([name, field]) => ({ name, field }));
    this.#keys = new Set(this.#fields.map(({ field }) => field.key));
  }

  toCbor(value: Members<Table>, at: Place): CborMap {
    const members: Readonly<Record<string, unknown>> = value;
    const map = new Map<number, CborValue>();
    for (const { name, field } of this.#fields) {
      if (isAbsent(members[name], field.presence)) continue;
      map.set(field.key, field.type.toCbor(members[name], { within: at, step: name }));
    }
    return map;
  }

  fromCbor(value: CborValue, at: Place): Members<Table> {
    if (!(value instanceof Map)) return refuse(at, 'is not a map');
    const map: CborMap = value;
    const members: Record<string, unknown> = {};
    let known = 0;
    for (const named of this.#fields) {
      const item = map.get(named.field.key);
      if (item !== undefined) known += 1;
      const member = readMember(named, item, at);
      if (member !== undefined) members[named.name] = member;
    }
    if (known < map.size) this.#refuseUnknown(map, at);
    return members as Members<Table>;
  }

  #refuseUnknown(map: CborMap, at: Place): never {
    const key = [...map.keys()].find((one) => !this.#keys.has(one));
    return refuse(at, `has the key ${JSON.stringify(key)?.slice(0, 32)}, which is not known`);
  }
}

class TupleType<Table extends Fields> implements WireType<Members<Table>> {
  readonly #fields: readonly NamedField[];
  readonly #least: number;

  constructor(table: Table) {
    this.#fields = Object.entries(table)
      .map(([name, field]) => ({ name, field }))
      .sort((a, b) => a.field.key - b.field.key);
    this.#least = this.#fields.filter(({ field }) => field.presence === 'required').length;
  }

  toCbor(value: Members<Table>, at: Place): readonly CborValue[] {
    const members: Readonly<Record<string, unknown>> = value;
    const present = this.#fields.filter(({ name, field }) => !isAbsent(members[name], field.presence));
    return present.map(({ name, field }) => field.type.toCbor(members[name], { within: at, step: name }));
  }

  fromCbor(value: CborValue, at: Place): Members<Table> {
    const [least, most] = [this.#least, this.#fields.length];
    if (!Array.isArray(value) || value.length < least || value.length > most) {
      return refuse(at, `is not an array of ${least === most ? most : `${least} to ${most}`}`);
    }
    const items: readonly CborValue[] = value;
    const members: Record<string, unknown> = {};
    this.#fields.forEach((named, index) => {
      const member = readMember(named, items[index], at);
      if (member !== undefined) members[named.name] = member;
    });
    return members as Members<Table>;
  }
}

function isAbsent(value: unknown, presence: Presence): boolean {
  if (presence === 'listed') return Array.isArray(value) && value.length === 0;
  return presence === 'optional' && value === undefined;
}

/** Undefined for an optional member that is not there. */
function readMember({ name, field }: NamedField, item: CborValue | undefined, at: Place): unknown {
  if (item === undefined) return absentMember({ name, field }, at);
  const place = { within: at, step: name };
  const value = field.type.fromCbor(item, place);
  // Two encodings of one value would have two hashes.
  return isAbsent(value, field.presence) ? refuse(place, 'is an empty list, which does not travel') : value;
}

function absentMember({ name, field }: NamedField, at: Place): readonly never[] | undefined {
  if (field.presence === 'required') refuse({ within: at, step: name }, 'is missing');
  return field.presence === 'listed' ? [] : undefined;
}
