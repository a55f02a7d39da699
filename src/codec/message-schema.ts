import type { KeyObject } from 'node:crypto';
import { type CborMap, type CborValue, encodeCbor, viewCbor } from './cbor.ts';
import { CBOR_LIMITS, type CborLimits } from './cbor-scan.ts';
import { openSign1, signSign1 } from './cose-sign1.ts';
import { refuse, type ValueOf, type ValuePath, type WireType } from './message-values.ts';

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

  toCbor(value: Members<Table>, at: ValuePath): CborMap {
    const members: Readonly<Record<string, unknown>> = value;
    const map = new Map<number, CborValue>();
    for (const { name, field } of this.#fields) {
      if (isAbsent(members[name], field.presence)) continue;
      map.set(field.key, field.type.toCbor(members[name], { within: at, step: name }));
    }
    return map;
  }

  fromCbor(value: CborValue, at: ValuePath): Members<Table> {
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

  #refuseUnknown(map: CborMap, at: ValuePath): never {
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

  toCbor(value: Members<Table>, at: ValuePath): readonly CborValue[] {
    const members: Readonly<Record<string, unknown>> = value;
    const present = this.#fields.filter(({ name, field }) => !isAbsent(members[name], field.presence));
    return present.map(({ name, field }) => field.type.toCbor(members[name], { within: at, step: name }));
  }

  fromCbor(value: CborValue, at: ValuePath): Members<Table> {
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
function readMember({ name, field }: NamedField, item: CborValue | undefined, at: ValuePath): unknown {
  if (item === undefined) return absentMember({ name, field }, at);
  const place = { within: at, step: name };
  const value = field.type.fromCbor(item, place);
  // Two encodings of one value would have two hashes.
  return isAbsent(value, field.presence) ? refuse(place, 'is an empty list, which does not travel') : value;
}

function absentMember({ name, field }: NamedField, at: ValuePath): readonly never[] | undefined {
  if (field.presence === 'required') refuse({ within: at, step: name }, 'is missing');
  return field.presence === 'listed' ? [] : undefined;
}

/** Names of the kinds, each with the number that stands for it on the wire and what it holds beside. */
type VariantTable = Readonly<Record<string, readonly [tag: number, type: WireType<unknown>]>>;
type FlatVariant<Type> = { readonly [Name in keyof Type]: Type[Name] };
type VariantValue<Member extends string, Table extends VariantTable> = {
  [Kind in keyof Table]: FlatVariant<{ readonly [Name in Member]: Kind } & ValueOf<Table[Kind][1]>>;
}[keyof Table];

interface NamedVariant {
  readonly kind: string;
  readonly tag: number;
  readonly type: WireType<unknown>;
}

/** One of several messages; `member` tells them apart. On the wire it is the key 0 of a map, or the first item of an array. */
export function variants<const Member extends string, Table extends VariantTable>(
  member: Member,
  table: Table,
): WireType<VariantValue<Member, Table>> {
  const all = Object.entries(table).map(([kind, [tag, type]]) => ({ kind, tag, type }));
  return new VariantsType(member, all) as WireType<unknown> as WireType<VariantValue<Member, Table>>;
}

class VariantsType implements WireType<object> {
  readonly #member: string;
  readonly #byName: ReadonlyMap<unknown, NamedVariant>;
  readonly #byTag: ReadonlyMap<unknown, NamedVariant>;

  constructor(member: string, all: readonly NamedVariant[]) {
    this.#member = member;
    this.#byName = new Map(all.map((one) => [one.kind, one]));
    this.#byTag = new Map(all.map((one) => [one.tag, one]));
  }

  toCbor(value: object, at: ValuePath): CborValue {
    const name = Object.entries(value).find(([key]) => key === this.#member)?.[1];
    const { kind, tag, type } = this.#byName.get(name) ?? refuse(at, `is of no known ${this.#member}`);
    const members = type.toCbor(value, { within: at, step: kind });
    return members instanceof Map ? new Map<number | string, CborValue>([[0, tag], ...(members as CborMap)]) : [tag, ...itemsOf(members)];
  }

  fromCbor(value: CborValue, at: ValuePath): object {
    const [tag, members] = value instanceof Map ? splitMap(value) : [itemsOf(value)[0], itemsOf(value).slice(1)];
    const { kind, type } = this.#byTag.get(tag) ?? refuse(at, `is of no known ${this.#member}`);
    return { [this.#member]: kind, ...(type.fromCbor(members, { within: at, step: kind }) as object) };
  }
}

function splitMap(map: CborMap): readonly [CborValue | undefined, CborMap] {
  const members = new Map(map);
  members.delete(0);
  return [map.get(0), members];
}

function itemsOf(value: CborValue): readonly CborValue[] {
  return Array.isArray(value) ? value : [];
}

/** Bytes of one kind of message and back; a message that was decoded shares no memory with its bytes. */
export interface MessageCodec<Value> {
  /** VALIDATION_ERROR names the message and the member that is out of bounds. */
  encode(value: Value): Uint8Array;
  /** Takes only what `encode` makes. VALIDATION_ERROR names the message and the member, or the byte that is no such CBOR. */
  decode(bytes: Uint8Array): Value;
}

/** The codec of a message called `name`; the limits of the look over the raw bytes are those of CBOR_LIMITS unless given. */
export function messageCodec<Value>(name: string, type: WireType<Value>, limits: Partial<CborLimits> = {}): MessageCodec<Value> {
  const place = { within: undefined, step: name };
  const { maxBytes } = { ...CBOR_LIMITS, ...limits };
  return {
    encode: (value) => {
      const bytes = encodeCbor(type.toCbor(value, place));
      if (bytes.length > maxBytes) refuse(place, `has ${bytes.length} bytes, more than the ${maxBytes} that are allowed`);
      return bytes;
    },
    // Each type takes what it keeps into memory of its own.
    decode: (bytes) => type.fromCbor(viewCbor(bytes, limits), place),
  };
}

/** Signed bytes of one kind of message and back. */
export interface SignedCodec<Value> {
  /** COSE_Sign1 (RFC 9052) over the message's encoding. VALIDATION_ERROR. */
  sign(value: Value, key: KeyObject): Uint8Array;
  /**
   * The message, once its signature has proven to be by the key that `keyOf` answers. `keyOf` sees a message that nobody vouches
   * for yet: it may refuse it by throwing before the cost of a verification. VALIDATION_ERROR.
   */
  open(bytes: Uint8Array, keyOf: (unverified: Value) => KeyObject | undefined): Value;
}

/** The same under a signature; `domain` keeps it from serving any other kind of message (`external_aad`). */
export function signedCodec<Value>(codec: MessageCodec<Value>, domain: string): SignedCodec<Value> {
  const externalAad = new TextEncoder().encode(domain);
  return {
    sign: (value, key) => signSign1({ payload: codec.encode(value), key, externalAad }),
    open: (bytes, keyOf) => openSign1(bytes, { read: codec.decode, keyOf, externalAad }),
  };
}
