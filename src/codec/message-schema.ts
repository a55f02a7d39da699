import type { KeyObject } from 'node:crypto';
import { CBOR_LIMITS, type CborLimits, type CborMap, type CborValue, encodeCbor, viewCbor } from './cbor.ts';
import { openSign1, signSign1 } from './cose-sign1.ts';
import { refuse, type ValueOf, type ValuePath, type WireType } from './message-values.ts';

/** `required`: always present. `optional`: absent where it is undefined. `listed`: a list that does not travel when it is empty. */
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

/** A member that is always present. */
export function required<Value>(key: number, type: WireType<Value>): Field<Value, 'required'> {
  return { key, type, presence: 'required' };
}

/** A member that may be absent. */
export function optional<Value>(key: number, type: WireType<Value>): Field<Value, 'optional'> {
  return { key, type, presence: 'optional' };
}

/** A list that is always present, and that travels only with items in it. */
export function listed<Item>(key: number, type: WireType<readonly Item[]>): Field<readonly Item[], 'listed'> {
  return { key, type, presence: 'listed' };
}

interface NamedField {
  readonly name: string;
  readonly field: Field<unknown, Presence>;
}

/** A CBOR map with integer keys; rejects keys that the table does not have. */
export function message<Table extends Fields>(table: Table): WireType<Members<Table>> {
  const fields = Object.entries(table).map(([name, field]): NamedField => ({ name, field }));
  const keys = new Set<unknown>(fields.map(({ field }) => field.key));
  return {
    toCbor(value: Readonly<Record<string, unknown>>, at) {
      const map = new Map<number, CborValue>();
      for (const { name, field } of fields) {
        if (isAbsent(value[name], field.presence)) continue;
        map.set(field.key, field.type.toCbor(value[name], { within: at, step: name }));
      }
      return map;
    },
    fromCbor(value, at) {
      if (!(value instanceof Map)) return refuse(at, 'is not a map');
      const map: CborMap = value;
      const members: Record<string, unknown> = {};
      let known = 0;
      for (const named of fields) {
        const item = map.get(named.field.key);
        if (item !== undefined) known += 1;
        const member = readMember(named, item, at);
        if (member !== undefined) members[named.name] = member;
      }
      if (known === map.size) return members as Members<Table>;
      const unknownKey = [...map.keys()].find((key) => !keys.has(key));
      return refuse(at, `has the key ${JSON.stringify(unknownKey)?.slice(0, 32)}, which is not known`);
    },
  };
}

/** A CBOR array with the members in the order of their keys, which count from 0; only the last ones may be optional. */
export function tuple<Table extends Fields>(table: Table): WireType<Members<Table>> {
  const fields = Object.entries(table)
    .map(([name, field]): NamedField => ({ name, field }))
    .sort((a, b) => a.field.key - b.field.key);
  const most = fields.length;
  const least = fields.filter(({ field }) => field.presence === 'required').length;
  return {
    toCbor(value: Readonly<Record<string, unknown>>, at) {
      const present = fields.filter(({ name, field }) => !isAbsent(value[name], field.presence));
      return present.map(({ name, field }) => field.type.toCbor(value[name], { within: at, step: name }));
    },
    fromCbor(value, at) {
      if (!Array.isArray(value) || value.length < least || value.length > most) {
        return refuse(at, `is not an array of ${least === most ? most : `${least} to ${most}`}`);
      }
      const items: readonly CborValue[] = value;
      const members: Record<string, unknown> = {};
      fields.forEach((named, index) => {
        const member = readMember(named, items[index], at);
        if (member !== undefined) members[named.name] = member;
      });
      return members as Members<Table>;
    },
  };
}

function isAbsent(value: unknown, presence: Presence): boolean {
  if (presence === 'listed') return Array.isArray(value) && value.length === 0;
  return presence === 'optional' && value === undefined;
}

/** Returns undefined for an optional member that is absent. */
function readMember({ name, field }: NamedField, item: CborValue | undefined, at: ValuePath): unknown {
  const place = { within: at, step: name };
  if (item === undefined) {
    if (field.presence === 'required') refuse(place, 'is missing');
    return field.presence === 'listed' ? [] : undefined;
  }
  const value = field.type.fromCbor(item, place);
  // Two encodings of one value would have two hashes.
  return isAbsent(value, field.presence) ? refuse(place, 'is an empty list, which does not travel') : value;
}

/** Names of the kinds, each with its number on the wire and the type of its other members. */
type VariantTable = Readonly<Record<string, readonly [tag: number, type: WireType<unknown>]>>;
type VariantValue<Member extends string, Table extends VariantTable> = {
  [Kind in keyof Table]: Flat<{ readonly [Name in Member]: Kind } & ValueOf<Table[Kind][1]>>;
}[keyof Table];

/** One of several messages; `member` names its kind. On the wire the kind is the key 0 of a map, or the first item of an array. */
export function variants<const Member extends string, Table extends VariantTable>(
  member: Member,
  table: Table,
): WireType<VariantValue<Member, Table>> {
  const all = Object.entries(table).map(([kind, [tag, type]]) => ({ kind, tag, type }));
  const byKind = new Map<unknown, (typeof all)[number]>(all.map((variant) => [variant.kind, variant]));
  const byTag = new Map<unknown, (typeof all)[number]>(all.map((variant) => [variant.tag, variant]));
  return {
    toCbor(value, at) {
      const name = Object.entries(value).find(([key]) => key === member)?.[1];
      const { kind, tag, type } = byKind.get(name) ?? refuse(at, `is of no known ${member}`);
      const members = type.toCbor(value, { within: at, step: kind });
      return members instanceof Map ? new Map<number | string, CborValue>([[0, tag], ...(members as CborMap)]) : [tag, ...itemsOf(members)];
    },
    fromCbor(value, at) {
      const [tag, members] = value instanceof Map ? splitMap(value) : [itemsOf(value)[0], itemsOf(value).slice(1)];
      const { kind, type } = byTag.get(tag) ?? refuse(at, `is of no known ${member}`);
      return { [member]: kind, ...(type.fromCbor(members, { within: at, step: kind }) as object) } as VariantValue<Member, Table>;
    },
  };
}

function splitMap(map: CborMap): readonly [CborValue | undefined, CborMap] {
  const members = new Map(map);
  members.delete(0);
  return [map.get(0), members];
}

function itemsOf(value: CborValue): readonly CborValue[] {
  return Array.isArray(value) ? value : [];
}

/** Encodes and decodes one kind of message; a decoded message shares no memory with its bytes. */
export interface MessageCodec<Value> {
  /** Throws VALIDATION_ERROR with the message and the member that is out of bounds. */
  encode(value: Value): Uint8Array;
  /** Accepts only the encoding of `encode`. Throws VALIDATION_ERROR with the message and the member, or with the byte that is not valid. */
  decode(bytes: Uint8Array): Value;
}

/** The codec of the message `name`; limits that are not given are those of CBOR_LIMITS. */
export function messageCodec<Value>(name: string, type: WireType<Value>, limits: Partial<CborLimits> = {}): MessageCodec<Value> {
  const place = { within: undefined, step: name };
  const { maxBytes } = { ...CBOR_LIMITS, ...limits };
  return {
    encode: (value) => {
      const bytes = encodeCbor(type.toCbor(value, place));
      if (bytes.length > maxBytes) refuse(place, `has ${bytes.length} bytes, more than the ${maxBytes} that are allowed`);
      return bytes;
    },
    // Each type copies the bytes that it returns.
    decode: (bytes) => type.fromCbor(viewCbor(bytes, limits), place),
  };
}

/** Signs and verifies one kind of message. */
export interface SignedCodec<Value> {
  /** Returns a COSE_Sign1 (RFC 9052) over the message's encoding. Throws VALIDATION_ERROR. */
  sign(value: Value, key: KeyObject): Uint8Array;
  /**
   * Returns the message if its signature is by the key that `keyOf` returns. `keyOf` receives the message before it is verified, and may
   * reject it by throwing before the cost of a verification. Throws VALIDATION_ERROR.
   */
  open(bytes: Uint8Array, keyOf: (unverified: Value) => KeyObject | undefined): Value;
}

/** The signed form of a message; a signature with one `domain` (`external_aad`) is not valid for any other kind of message. */
export function signedCodec<Value>(codec: MessageCodec<Value>, domain: string): SignedCodec<Value> {
  const externalAad = new TextEncoder().encode(domain);
  return {
    sign: (value, key) => signSign1({ payload: codec.encode(value), key, externalAad }),
    open: (bytes, keyOf) => openSign1(bytes, { read: codec.decode, keyOf, externalAad }),
  };
}
