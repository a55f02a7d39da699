import type { KeyObject } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import type { HubId } from '../core/ids.ts';
import { CBOR_LIMITS, type CborLimits, type CborMap, type CborValue, encodeCbor, viewCbor } from './cbor.ts';
import { openSign1, signSign1 } from './cose-sign1.ts';

/** Path of a value in its message, innermost step first. */
export interface ValuePath {
  readonly within: ValuePath | undefined;
  /** Name of the message or of a field, or an array index. */
  readonly step: string | number;
}

/** Converts one type of value to and from CBOR. Both methods throw VALIDATION_ERROR if the value exceeds its limits. */
export interface WireType<Value> {
  toCbor(value: Value, at: ValuePath): CborValue;
  fromCbor(value: CborValue, at: ValuePath): Value;
}

/** TypeScript type of the values of a wire type. */
export type ValueOf<Type> = Type extends WireType<infer Value> ? Value : never;

/** Throws VALIDATION_ERROR with a text such as `Announcement refused: tools[3].hash is not 8 bytes`. */
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

/** Returns a wire type for values that are CBOR values already. Encoding and decoding only check the values. */
function plain<Value extends CborValue>(check: (value: unknown, at: ValuePath) => Value): WireType<Value> {
  return { toCbor: check, fromCbor: check };
}

interface Bounds {
  readonly min?: number;
  readonly max: number;
}

/** Returns the wire type of text with `min` (default 1) to `max` UTF-8 bytes. */
export function text({ min = 1, max, pattern }: Bounds & { readonly pattern?: RegExp }): WireType<string> {
  return plain((value, at) => {
    if (typeof value !== 'string') return refuse(at, 'is not text');
    // A UTF-16 code unit is at most three bytes of UTF-8, so short texts need no exact count.
    const length = value.length * 3 > max ? Buffer.byteLength(value) : value.length;
    if (length < min || length > max) return refuse(at, `is not text of ${min} to ${max} bytes`);
    if (pattern && !pattern.test(value)) return refuse(at, `is not of the form ${pattern.source}`);
    return value;
  });
}

/** Returns the wire type of an integer from `min` (default 0) to `max` (default 2^53 − 1). */
export function uint({ min = 0, max = Number.MAX_SAFE_INTEGER }: Partial<Bounds> = {}): WireType<number> {
  return plain((value, at) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    return refuse(at, `is not a whole number from ${min} to ${max}`);
  });
}

/** Wire type of a boolean. */
export const bool: WireType<boolean> = plain((value, at) => (typeof value === 'boolean' ? value : refuse(at, 'is not true or false')));

/** Wire type of a text of at most 256 bytes, an integer or a boolean. */
export const scalar: WireType<string | number | boolean> = plain((value, at) => {
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return value as boolean | number;
  if (typeof value === 'string' && Buffer.byteLength(value) <= 256) return value;
  return refuse(at, 'is not text of at most 256 bytes, a whole number, true or false');
});

/** Returns the wire type of a byte string of `min` (default 0) to `max` bytes. */
export function bytes(bounds: Bounds): WireType<Uint8Array> {
  return {
    toCbor: (value, at) => requireBytes(value, at, bounds),
    // Copies the bytes: a stored view would keep the whole message in memory.
    fromCbor: (value, at) => new Uint8Array(requireBytes(value, at, bounds)),
  };
}

/** Returns the value if it is a byte string of `min` (default 0) to `max` bytes. Throws VALIDATION_ERROR for any other value. */
export function requireBytes(value: unknown, at: ValuePath, { min = 0, max }: Bounds): Uint8Array {
  if (!(value instanceof Uint8Array)) return refuse(at, 'is not a byte string');
  if (value.length >= min && value.length <= max) return value;
  return refuse(at, min === max ? `is not ${max} bytes` : `is not ${min} to ${max} bytes`);
}

/** Returns the wire type of a choice between names; each name is sent as its number. */
export function choice<Name extends string>(numbers: Readonly<Record<Name, number>>): WireType<Name> {
  const names = Object.keys(numbers) as Name[];
  const byNumber = new Map<unknown, Name>(names.map((name) => [numbers[name], name]));
  const problem = `is none of ${names.join(', ')}`;
  return {
    toCbor: (value, at) => (names.includes(value) ? numbers[value] : refuse(at, problem)),
    fromCbor: (value, at) => byNumber.get(value) ?? refuse(at, problem),
  };
}

/** Returns the wire type of a list of `min` (default 0) to `max` items. */
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

/** Returns the wire type of an object with at most `max` properties. `name` is the wire type of each name, and `type` of each value. */
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
      // `fromEntries` is used because it creates own properties even for names such as `__proto__`.
      return Object.fromEntries(
        entries.map(([key, item]) => [name.fromCbor(key, at), type.fromCbor(item, { within: at, step: String(key) })]),
      );
    },
  };
}

/** Returns the wire type of null or a value of `type`. */
export function nullable<Value>(type: WireType<Value>): WireType<Value | null> {
  return {
    toCbor: (value, at) => (value === null ? null : type.toCbor(value, at)),
    fromCbor: (value, at) => (value === null ? null : type.fromCbor(value, at)),
  };
}

/** Maximum length in bytes for which a table of hex digits is faster than a Buffer. */
const SHORT_BYTES = 16;
const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Returns the wire type of a byte string that TypeScript code holds as lower-case hexadecimal text. */
export function hex(bounds: Bounds): WireType<string> {
  return textual({ ...bounds, encoding: 'hex' });
}

/** Returns the wire type of a byte string that TypeScript code holds as text: a fixed prefix, then base64url without padding. */
export function base64url(bounds: Bounds & { readonly prefix?: string }): WireType<string> {
  return textual({ ...bounds, encoding: 'base64url' });
}

/** Wire type of a raw Ed25519 public key: 32 bytes, base64url text in TypeScript. */
export const publicKey: WireType<string> = base64url({ min: 32, max: 32 });
/** Wire type of a hub id: 8 bytes, which are written as `hub-` and 16 hex digits in TypeScript. */
export const hubId = textual({ min: 8, max: 8, prefix: 'hub-', encoding: 'hex' }) as WireType<HubId>;
/** Wire type of a mesh id: 8 bytes, which are written as `mesh-` and 16 hex digits in TypeScript. */
export const meshId: WireType<string> = textual({ min: 8, max: 8, prefix: 'mesh-', encoding: 'hex' });

type TextForm = Bounds & { readonly prefix?: string; readonly encoding: 'hex' | 'base64url' };

/** Returns the wire type of a byte string that TypeScript code holds as text. Each byte string has exactly one text. */
function textual({ prefix = '', encoding, ...bounds }: TextForm): WireType<string> {
  const isShortHex = encoding === 'hex' && bounds.max <= SHORT_BYTES;
  const format = (bytes: Uint8Array): string => prefix + (isShortHex ? hexOf(bytes) : textOf(bytes, encoding));
  const parse = (value: unknown, at: ValuePath): Uint8Array => {
    const text = typeof value === 'string' ? value : refuse(at, 'is not text');
    const bytes = new Uint8Array(Buffer.from(text.slice(prefix.length), encoding));
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

/** Returns bytes as text in an encoding of Buffer. */
export function textOf(bytes: Uint8Array, encoding: 'hex' | 'base64' | 'base64url'): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding);
}

/** When a field may be absent. `required`: never. `optional`: if its value is undefined. `listed`: if its list is empty. */
type Presence = 'required' | 'optional' | 'listed';

/** Field of a message: its key on the wire, its type, and whether it may be absent. */
export interface Field<Value, Kind extends Presence> {
  readonly key: number;
  readonly type: WireType<Value>;
  readonly presence: Kind;
}

type Fields = Readonly<Record<string, Field<unknown, Presence>>>;
type FieldValue<Type> = Type extends Field<infer Value, Presence> ? Value : never;
type Flat<Type> = { readonly [Name in keyof Type]: Type[Name] };

/** TypeScript type of the message that a table of fields describes. */
type Members<Table extends Fields> = Flat<
  {
    readonly [Name in keyof Table as Table[Name] extends Field<unknown, 'optional'> ? never : Name]: FieldValue<Table[Name]>;
  } & {
    readonly [Name in keyof Table as Table[Name] extends Field<unknown, 'optional'> ? Name : never]?: FieldValue<Table[Name]>;
  }
>;

/** Returns a field that is always present. */
export function required<Value>(key: number, type: WireType<Value>): Field<Value, 'required'> {
  return { key, type, presence: 'required' };
}

/** Returns a field that may be absent. */
export function optional<Value>(key: number, type: WireType<Value>): Field<Value, 'optional'> {
  return { key, type, presence: 'optional' };
}

/** Returns a field for a list. An empty list is not sent; in TypeScript the list is always present. */
export function listed<Item>(key: number, type: WireType<readonly Item[]>): Field<readonly Item[], 'listed'> {
  return { key, type, presence: 'listed' };
}

interface NamedField {
  readonly name: string;
  readonly field: Field<unknown, Presence>;
}

/** Returns the wire type of a message as a CBOR map with integer keys. Decoding throws VALIDATION_ERROR if the map has an unknown key. */
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

/** Returns the wire type of a message that is sent as a CBOR array. The fields have the keys 0, 1, …; only the last may be optional. */
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

/** Decodes one field. Returns undefined if an optional field is absent. */
function readMember({ name, field }: NamedField, item: CborValue | undefined, at: ValuePath): unknown {
  const place = { within: at, step: name };
  if (item === undefined) {
    if (field.presence === 'required') refuse(place, 'is missing');
    return field.presence === 'listed' ? [] : undefined;
  }
  const value = field.type.fromCbor(item, place);
  // An empty list must not be sent, because the message would then have two encodings and two hashes.
  return isAbsent(value, field.presence) ? refuse(place, 'is an empty list, which does not travel') : value;
}

/** Kinds of a message by name: the number of the kind on the wire, and the wire type of all other fields. */
type VariantTable = Readonly<Record<string, readonly [tag: number, type: WireType<unknown>]>>;
type VariantValue<Member extends string, Table extends VariantTable> = {
  [Kind in keyof Table]: Flat<{ readonly [Name in Member]: Kind } & ValueOf<Table[Kind][1]>>;
}[keyof Table];

/** Returns the wire type of a message of several kinds. The field `member` names the kind. It is sent as key 0 or as the first item. */
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

/** Encodes and decodes one type of message. Unless a wire type says otherwise, a decoded message shares no memory with its bytes. */
export interface MessageCodec<Value> {
  /** Throws VALIDATION_ERROR, which names the message and the field, if a field exceeds its limits. */
  encode(value: Value): Uint8Array;
  /** Accepts only the output of `encode`. Throws VALIDATION_ERROR, which names the field or the byte position, for other bytes. */
  decode(bytes: Uint8Array): Value;
}

/** Returns the codec of the message `name`. Limits that are not given have the values of CBOR_LIMITS. */
export function messageCodec<Value>(name: string, type: WireType<Value>, limits: Partial<CborLimits> = {}): MessageCodec<Value> {
  const place = { within: undefined, step: name };
  const { maxBytes } = { ...CBOR_LIMITS, ...limits };
  return {
    encode: (value) => {
      const bytes = encodeCbor(type.toCbor(value, place));
      if (bytes.length > maxBytes) refuse(place, `has ${bytes.length} bytes, more than the ${maxBytes} that are allowed`);
      return bytes;
    },
    // No copy is needed here: a wire type copies the byte strings that it returns, or documents that it does not.
    decode: (bytes) => type.fromCbor(viewCbor(bytes, limits), place),
  };
}

/** Signs and verifies one type of message. */
export interface SignedCodec<Value> {
  /** Returns a COSE_Sign1 message (RFC 9052) over the encoded message. Throws VALIDATION_ERROR if the message exceeds its limits. */
  sign(value: Value, key: KeyObject): Uint8Array;
  /**
   * Verifies and returns a message. `keyOf` receives the unverified message and returns the key that must have signed it; it may throw to
   * reject the message before the costly verification. Throws VALIDATION_ERROR if the message or its signature is not valid.
   */
  open(bytes: Uint8Array, keyOf: (unverified: Value) => KeyObject | undefined): Value;
}

/** Returns the codec of a signed message. `domain` becomes the `external_aad`, so a signature is valid only for messages of this domain. */
export function signedCodec<Value>(codec: MessageCodec<Value>, domain: string): SignedCodec<Value> {
  const externalAad = new TextEncoder().encode(domain);
  return {
    sign: (value, key) => signSign1({ payload: codec.encode(value), key, externalAad }),
    open: (bytes, keyOf) => openSign1(bytes, { read: codec.decode, keyOf, externalAad }),
  };
}
