import type { CborMap, CborValue } from './cbor.ts';
import { type Place, refuse, type ValueOf, type WireType } from './message-type.ts';

/** Names of the kinds, each with the number that stands for it on the wire and what it holds beside. */
type KindTable = Readonly<Record<string, readonly [tag: number, type: WireType<unknown>]>>;
type Flat<Type> = { readonly [Name in keyof Type]: Type[Name] };
type KindValue<Member extends string, Table extends KindTable> = {
  [Kind in keyof Table]: Flat<{ readonly [Name in Member]: Kind } & ValueOf<Table[Kind][1]>>;
}[keyof Table];

interface NamedKind {
  readonly kind: string;
  readonly tag: number;
  readonly type: WireType<unknown>;
}

/** One of several messages; `member` tells them apart. On the wire it is the key 0 of a map, or the first item of an array. */
export function kinds<const Member extends string, Table extends KindTable>(
  member: Member,
  table: Table,
): WireType<KindValue<Member, Table>> {
  const all = Object.entries(table).map(([kind, [tag, type]]) => ({ kind, tag, type }));
  return new KindsType(member, all) as WireType<unknown> as WireType<KindValue<Member, Table>>;
}

class KindsType implements WireType<object> {
  readonly #member: string;
  readonly #byName: ReadonlyMap<unknown, NamedKind>;
  readonly #byTag: ReadonlyMap<unknown, NamedKind>;

  constructor(member: string, all: readonly NamedKind[]) {
    this.#member = member;
    this.#byName = new Map(all.map((one) => [one.kind, one]));
    this.#byTag = new Map(all.map((one) => [one.tag, one]));
  }

  toCbor(value: object, at: Place): CborValue {
    const name = Object.entries(value).find(([key]) => key === this.#member)?.[1];
    const { kind, tag, type } = this.#byName.get(name) ?? refuse(at, `is of no known ${this.#member}`);
    const members = type.toCbor(value, { within: at, step: kind });
    return members instanceof Map ? new Map<number | string, CborValue>([[0, tag], ...(members as CborMap)]) : [tag, ...itemsOf(members)];
  }

  fromCbor(value: CborValue, at: Place): object {
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
