import { AtmoError } from '../../core/errors.ts';

type DbusMessageType = 'call' | 'return' | 'error' | 'signal';

/** A D-Bus message (D-Bus specification, "Message Protocol"). If a message lacks a header field, the property is empty or 0. */
export interface DbusMessage {
  readonly type: DbusMessageType;
  readonly serial: number;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly errorName: string;
  readonly replySerial: number;
  readonly destination: string;
  readonly sender: string;
  readonly signature: string;
  readonly body: readonly DbusValue[];
}

const TYPES: readonly (DbusMessageType | undefined)[] = [undefined, 'call', 'return', 'error', 'signal'];
const HEADER_SIGNATURE = 'yyyyuua(yv)';
const FIXED_BYTES = 16;
const LITTLE_ENDIAN = 0x6c;
/** Maximum size of an accepted message. BlueZ sends at most a few kilobytes, while the specification allows 128 MiB. */
const MAX_MESSAGE_BYTES = 4 * 1_048_576;

/** Encodes a D-Bus message in little-endian byte order. Leaves out the header fields that `message` lacks. */
export function encodeMessage(message: Partial<DbusMessage> & Pick<DbusMessage, 'type' | 'serial'>): Uint8Array {
  const { signature = '', body = [] } = message;
  const data = marshal(signature, body);
  const all: readonly (readonly [code: number, signature: string, value: string | number | undefined])[] = [
    [1, 'o', message.path],
    [2, 's', message.interface],
    [3, 's', message.member],
    [4, 's', message.errorName],
    [5, 'u', message.replySerial],
    [6, 's', message.destination],
    [8, 'g', signature],
  ];
  const fields = all.flatMap(([code, type, value]) => (value ? [[code, { signature: type, value }]] : []));
  const header = marshal(HEADER_SIGNATURE, [LITTLE_ENDIAN, TYPES.indexOf(message.type), 0, 1, data.length, message.serial, fields]);
  const padded = Math.ceil(header.length / 8) * 8;
  const bytes = new Uint8Array(padded + data.length);
  bytes.set(header);
  bytes.set(data, padded);
  return bytes;
}

/**
 * Decodes the first message in the received data. Returns undefined if the message is incomplete. Throws RESULT_INVALID if the data is not
 * D-Bus, and PAYLOAD_TOO_LARGE if the message is longer than 4 MiB.
 */
export function decodeMessage(data: Uint8Array): { readonly message: DbusMessage; readonly end: number } | undefined {
  if (data.length < FIXED_BYTES) return undefined;
  if (data[0] !== LITTLE_ENDIAN) throw new AtmoError('RESULT_INVALID', 'The bus speaks another byte order than little-endian');
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const bodyStart = Math.ceil((FIXED_BYTES + view.getUint32(12, true)) / 8) * 8;
  const end = bodyStart + view.getUint32(4, true);
  if (end > MAX_MESSAGE_BYTES) throw new AtmoError('PAYLOAD_TOO_LARGE', `A D-Bus message of ${end} bytes is larger than allowed`);
  if (data.length < end) return undefined;
  const header = unmarshal(HEADER_SIGNATURE, data.subarray(0, bodyStart)).values;
  const fields = new Map(header[6] as readonly [number, DbusVariant][]);
  const text = (code: number): string => String(fields.get(code)?.value ?? '');
  const signature = text(8);
  const message: DbusMessage = {
    type: TYPES[Number(header[1])] ?? 'signal',
    serial: Number(header[5]),
    path: text(1),
    interface: text(2),
    member: text(3),
    errorName: text(4),
    replySerial: Number(fields.get(5)?.value ?? 0),
    destination: text(6),
    sender: text(7),
    signature,
    // The body starts on an 8-byte boundary of the message, as `unmarshal` requires.
    body: unmarshal(signature, data.slice(bodyStart, end)).values,
  };
  return { message, end };
}

/** A D-Bus variant: a value with its own type signature. */
export interface DbusVariant {
  readonly signature: string;
  readonly value: DbusValue;
}

/** A D-Bus value: 64-bit integers are bigint, `ay` is Uint8Array, `a{..}` is a Map; other arrays and structs are arrays. */
export type DbusValue =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | readonly DbusValue[]
  | ReadonlyMap<DbusValue, DbusValue>
  | DbusVariant;

/** Maximum nesting of arrays and structs (the specification allows 64). */
const MAX_DEPTH = 32;
const ALIGNMENTS: Readonly<Record<string, number>> = { y: 1, g: 1, v: 1, n: 2, q: 2, x: 8, t: 8, d: 8, '(': 8, '{': 8 };

/** Splits a D-Bus type signature into its complete types (D-Bus specification, "Type System"). */
export function splitSignature(signature: string): readonly string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length; ) {
    const end = endOfType(signature, at, 0);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, at: number, depth: number): number {
  const code = signature[at];
  if (code === undefined || depth > MAX_DEPTH) throw brokenMessage('a signature is cut off or too deep');
  if (code === 'a') return endOfType(signature, at + 1, depth + 1);
  if (code !== '(' && code !== '{') return at + 1;
  const close = code === '(' ? ')' : '}';
  let end = at + 1;
  let members = 0;
  for (; signature[end] !== close; members++) end = endOfType(signature, end, depth + 1);
  // A value of a type without members would take no bytes, so that an array could hold any number of them.
  if (members === 0 || (code === '{' && members !== 2)) throw brokenMessage(`a type ${code}${close} has ${members} members`);
  return end + 1;
}

/** Returns the alignment of a D-Bus type in bytes; for numbers, this is also the size. */
function alignmentOf(type: string): number {
  return ALIGNMENTS[type[0] ?? ''] ?? 4;
}

function membersOf(type: string): readonly string[] {
  return splitSignature(type.slice(1, -1));
}

function brokenMessage(reason: string): AtmoError {
  return new AtmoError('RESULT_INVALID', `A D-Bus message cannot be read or written: ${reason}`);
}

/** Decodes the values that a D-Bus type signature describes. `data` must start on an 8-byte boundary of the message. */
export function unmarshal(signature: string, data: Uint8Array): { readonly values: readonly DbusValue[]; readonly end: number } {
  const reader = new Reader(data);
  const values = splitSignature(signature).map((type) => reader.read(type, 0));
  return { values, end: reader.at };
}

interface NumberFormat {
  get(view: DataView, at: number): number | bigint | boolean;
  set(view: DataView, value: DbusValue): void;
}

const UINT32_SET: NumberFormat['set'] = (view, value) => view.setUint32(0, Number(value), true);
const NUMBERS: Readonly<Record<string, NumberFormat>> = {
  y: { get: (view, at) => view.getUint8(at), set: (view, value) => view.setUint8(0, Number(value)) },
  n: { get: (view, at) => view.getInt16(at, true), set: (view, value) => view.setInt16(0, Number(value), true) },
  q: { get: (view, at) => view.getUint16(at, true), set: (view, value) => view.setUint16(0, Number(value), true) },
  i: { get: (view, at) => view.getInt32(at, true), set: (view, value) => view.setInt32(0, Number(value), true) },
  u: { get: (view, at) => view.getUint32(at, true), set: UINT32_SET },
  h: { get: (view, at) => view.getUint32(at, true), set: UINT32_SET },
  b: { get: (view, at) => view.getUint32(at, true) === 1, set: UINT32_SET },
  x: { get: (view, at) => view.getBigInt64(at, true), set: (view, value) => view.setBigInt64(0, BigInt(value as bigint), true) },
  t: { get: (view, at) => view.getBigUint64(at, true), set: (view, value) => view.setBigUint64(0, BigInt(value as bigint), true) },
  d: { get: (view, at) => view.getFloat64(at, true), set: (view, value) => view.setFloat64(0, Number(value), true) },
};

function numberFormat(code: string): NumberFormat {
  const format = Object.hasOwn(NUMBERS, code) ? NUMBERS[code] : undefined;
  if (format === undefined) throw brokenMessage(`type ${code} is unknown`);
  return format;
}

class Reader {
  readonly #view: DataView;
  /** The members of each type that was met: an array has the same type for all of its items. */
  readonly #members = new Map<string, readonly string[]>();
  at = 0;

  constructor(data: Uint8Array) {
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  read(type: string, depth: number): DbusValue {
    if (depth > MAX_DEPTH) throw brokenMessage('values are nested too deep');
    this.#align(alignmentOf(type));
    const code = type[0] ?? '';
    if (code === 'a') return this.#array(type.slice(1), depth + 1);
    if (code === '(' || code === '{') return this.#membersOf(type).map((member) => this.read(member, depth + 1));
    if (code === 'v') {
      const signature = this.#text('g');
      if (splitSignature(signature).length !== 1) throw brokenMessage('a variant does not hold one value');
      return { signature, value: this.read(signature, depth + 1) };
    }
    return code === 's' || code === 'o' || code === 'g' ? this.#text(code) : this.#number(code);
  }

  #membersOf(type: string): readonly string[] {
    const members = this.#members.get(type) ?? membersOf(type);
    this.#members.set(type, members);
    return members;
  }

  #number(code: string): number | bigint | boolean {
    const size = alignmentOf(code);
    if (this.at + size > this.#view.byteLength) throw brokenMessage('a message is cut off');
    const value = numberFormat(code).get(this.#view, this.at);
    this.at += size;
    return value;
  }

  #text(code: string): string {
    const text = Buffer.from(this.#bytes(Number(this.#number(code === 'g' ? 'y' : 'u')))).toString('utf8');
    this.at += 1;
    return text;
  }

  #array(type: string, depth: number): DbusValue {
    const length = Number(this.#number('u'));
    this.#align(alignmentOf(type));
    if (type === 'y') return this.#bytes(length).slice();
    const end = this.at + length;
    if (end > this.#view.byteLength) throw brokenMessage('an array is longer than its message');
    const items: DbusValue[] = [];
    while (this.at < end) items.push(this.read(type, depth));
    return type[0] === '{' ? new Map(items as [DbusValue, DbusValue][]) : items;
  }

  #bytes(length: number): Uint8Array {
    if (this.at + length > this.#view.byteLength) throw brokenMessage('a value is longer than its message');
    const bytes = new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.at, length);
    this.at += length;
    return bytes;
  }

  #align(alignment: number): void {
    this.at = Math.ceil(this.at / alignment) * alignment;
  }
}

/** Encodes values in little-endian byte order, as a D-Bus type signature describes. The result belongs on an 8-byte boundary. */
export function marshal(signature: string, values: readonly DbusValue[]): Uint8Array {
  const writer = new Writer();
  splitSignature(signature).forEach((type, index) => {
    const value = values[index];
    if (value === undefined) throw brokenMessage(`a value for ${type} is missing`);
    writer.write(type, value);
  });
  return writer.bytes();
}

class Writer {
  readonly #chunks: number[] = [];

  bytes(): Uint8Array {
    return Uint8Array.from(this.#chunks);
  }

  write(type: string, value: DbusValue): void {
    this.#align(alignmentOf(type));
    const code = type[0] ?? '';
    if (code === 'a') this.#array(type.slice(1), value);
    else if (code === '(' || code === '{') this.#members(membersOf(type), value);
    else if (code === 'v') this.#variant(value);
    else if (code === 's' || code === 'o' || code === 'g') this.#text(code, value);
    else this.#number(code, value);
  }

  #number(code: string, value: DbusValue): void {
    const bytes = new Uint8Array(alignmentOf(code));
    numberFormat(code).set(new DataView(bytes.buffer), value);
    this.#chunks.push(...bytes);
  }

  #text(code: string, value: DbusValue): void {
    const bytes = Buffer.from(String(value));
    this.#number(code === 'g' ? 'y' : 'u', bytes.length);
    this.#chunks.push(...bytes, 0);
  }

  #variant(value: DbusValue): void {
    if (!isVariant(value)) throw brokenMessage('a variant was expected');
    this.#text('g', value.signature);
    this.write(value.signature, value.value);
  }

  #members(types: readonly string[], value: DbusValue): void {
    if (!Array.isArray(value)) throw brokenMessage('a struct was expected');
    types.forEach((type, index) => {
      this.write(type, value[index]);
    });
  }

  #array(type: string, value: DbusValue): void {
    const lengthAt = this.#chunks.length;
    this.#chunks.push(0, 0, 0, 0);
    this.#align(alignmentOf(type));
    const start = this.#chunks.length;
    for (const item of itemsOf(value)) this.write(type, item);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, this.#chunks.length - start, true);
    this.#chunks.splice(lengthAt, length.length, ...length);
  }

  #align(alignment: number): void {
    while (this.#chunks.length % alignment !== 0) this.#chunks.push(0);
  }
}

function isVariant(value: DbusValue): value is DbusVariant {
  return typeof value === 'object' && 'signature' in value;
}

function itemsOf(value: DbusValue): Iterable<DbusValue> {
  if (value instanceof Uint8Array || Array.isArray(value)) return value;
  if (value instanceof Map) return [...value];
  throw brokenMessage('an array was expected');
}
