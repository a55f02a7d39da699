import { isAscii, isUtf8 } from 'node:buffer';
import { Decoder, type Options } from 'cbor-x/decode';
import { AtmoError } from '../core/errors.ts';

/** Value that hubs send as CBOR. Integers lie within ±(2^53 − 1). Map keys are integers in this range, or text. */
export type CborValue = number | string | boolean | null | Uint8Array | readonly CborValue[] | CborMap;
/** CBOR map; the order of its entries has no meaning. */
export type CborMap = ReadonlyMap<number | string, CborValue>;

/** Limits of a CBOR message; they bound the work that a sender can cause. */
export interface CborLimits {
  readonly maxBytes: number;
  /** Maximum nesting of arrays and maps; a value that is no array and no map has depth 0. */
  readonly maxDepth: number;
  /** Maximum number of data items; each array, map, key and value counts as one item. */
  readonly maxItems: number;
  /** Whether fractions, infinities and NaN are accepted; signed messages have no such numbers. */
  readonly floats: 'refused' | 'allowed';
}

/** Default limits of a message. */
export const CBOR_LIMITS: CborLimits = { maxBytes: 65_536, maxDepth: 16, maxItems: 4096, floats: 'refused' };

const OPTIONS: Options & { readonly int64AsNumber: true } = {
  useRecords: false,
  variableMapSize: true,
  tagUint8Array: false,
  mapsAsObjects: false,
  // This option is safe, since `scanCbor` has refused every integer that a JavaScript number cannot hold exactly.
  int64AsNumber: true,
};
// The entry point `cbor-x/decode` never loads the optional native addon.
const decoder = new Decoder(OPTIONS);

/**
 * Returns the deterministic encoding of a value (RFC 8949 §4.2.1): shortest heads and floats, definite lengths, map keys sorted by their
 * bytes. Writes integers outside ±(2^53 − 1) as floating-point numbers. Throws VALIDATION_ERROR if a part is no `CborValue`, if a text is
 * not well-formed or begins with a byte order mark, or if values are nested deeper than 16 levels.
 */
export function encodeCbor(value: CborValue): Uint8Array {
  const writer = new CborWriter(Buffer.allocUnsafe(MESSAGE_BYTES));
  writer.write(value, 0);
  return writer.take();
}

/**
 * Decodes CBOR, and accepts only the form that `encodeCbor` writes. Each value has one encoding, so equal values have equal hashes. The
 * returned value shares no memory with `bytes`. Throws VALIDATION_ERROR with the reason and the byte position for any other form.
 */
export function decodeCbor(bytes: Uint8Array, limits: Partial<CborLimits> = {}): CborValue {
  return viewCbor(new Uint8Array(bytes), limits);
}

/** Decodes CBOR like `decodeCbor` without a copy: byte strings are views of `bytes`. Callers copy the parts that they store. */
export function viewCbor(bytes: Uint8Array, limits: Partial<CborLimits> = {}): CborValue {
  scanCbor(bytes, { ...CBOR_LIMITS, ...limits });
  // cbor-x gets a new Uint8Array, because it adds a property to its input, and because views of a Buffer would be Buffers.
  return decoder.decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)) as CborValue;
}

/** Major types (RFC 8949 §3.1). */
const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;
const FALSE_TRUE_NULL: readonly number[] = [20, 21, 22];
/** Maps the size of an argument in bytes to the smallest value that needs this size (RFC 8949 §4.2.1). */
const LEAST_OF_SIZE: Readonly<Record<number, number>> = { 1: 24, 2: 0x100, 4: 0x1_0000, 8: 0x1_0000_0000 };
const BYTE_ORDER_MARK = 0xef_bb_bf;
/** Maximum length in bytes of a short text. For short texts, a loop is faster than a call of `isAscii`. */
const SHORT_TEXT_BYTES = 64;
const MAX_DEPTH = CBOR_LIMITS.maxDepth;
/** Initial buffer sizes in bytes; most messages and most map keys fit. */
const MESSAGE_BYTES = 512;
const KEY_BYTES = 16;
const MAX_HEAD_BYTES = 9;
const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;
const FLOAT_OF_SIZE = { 2: 0xf9, 4: 0xfa, 8: 0xfb } as const;

/** Returns `beginning`, followed by each part as a CBOR byte string. It allocates memory only once, because it runs for every signature. */
export function writeByteStrings(beginning: Uint8Array, parts: readonly Uint8Array[]): Uint8Array {
  const bytes = parts.reduce((sum, part) => sum + MAX_HEAD_BYTES + part.length, beginning.length);
  // `allocUnsafeSlow` does not use the memory that Buffers share, so the result can be returned without a copy.
  const writer = new CborWriter(Buffer.allocUnsafeSlow(bytes));
  writer.append(beginning);
  for (const part of parts) writer.write(part, 0);
  return writer.written();
}

class CborWriter {
  #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  /** Returns a copy of the bytes written so far. */
  take(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#buffer, 0, this.#at);
  }

  /** Returns the bytes written so far as a view of the buffer. */
  written(): Uint8Array {
    return this.#buffer.subarray(0, this.#at);
  }

  write(value: unknown, depth: number): void {
    if (typeof value === 'string') this.#text(value);
    else if (typeof value === 'number') this.#number(value);
    else if (value instanceof Uint8Array) this.#bytes(value);
    else if (value === null) this.#byte(NULL);
    else if (typeof value === 'boolean') this.#byte(value ? TRUE : FALSE);
    else if (depth >= MAX_DEPTH) refuseValue(`is nested deeper than ${MAX_DEPTH} levels`);
    else if (Array.isArray(value)) this.#array(value, depth);
    else if (value instanceof Map) this.#map(value, depth);
    else refuseValue(`is ${typeof value === 'object' ? 'an object that is neither a Map nor an array' : typeof value}`);
  }

  #array(items: readonly unknown[], depth: number): void {
    this.#head(MAJOR.array, items.length);
    for (const item of items) this.write(item, depth + 1);
  }

  #map(map: ReadonlyMap<unknown, unknown>, depth: number): void {
    if (areNumbersInOrder(map.keys())) this.#numbered(map, depth);
    else this.#sorted(map, depth);
  }

  #numbered(map: ReadonlyMap<unknown, unknown>, depth: number): void {
    this.#head(MAJOR.map, map.size);
    for (const [key, item] of map) {
      this.#head(MAJOR.unsigned, Number(key));
      this.write(item, depth + 1);
    }
  }

  #sorted(map: ReadonlyMap<unknown, unknown>, depth: number): void {
    const entries = Array.from(map, ([key, item]) => ({ key: writeKey(key), item })).sort((a, b) => Buffer.compare(a.key, b.key));
    this.#head(MAJOR.map, entries.length);
    for (const { key, item } of entries) {
      this.append(key);
      this.write(item, depth + 1);
    }
  }

  #bytes(bytes: Uint8Array): void {
    this.#head(MAJOR.bytes, bytes.length);
    this.append(bytes);
  }

  #text(text: string): void {
    if (!text.isWellFormed()) refuseValue('is text with half a surrogate pair');
    if (text.startsWith('\ufeff')) refuseValue('is text that begins with a byte order mark');
    const length = Buffer.byteLength(text);
    this.#head(MAJOR.text, length);
    this.#at += this.#reserve(length).write(text, this.#at, length, 'utf8');
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) this.#float(value);
    else if (value < 0) this.#head(MAJOR.negative, -1 - value);
    else this.#head(MAJOR.unsigned, value);
  }

  #float(value: number): void {
    const size = floatSize(value);
    this.#byte(FLOAT_OF_SIZE[size]);
    const bytes = new DataView(new ArrayBuffer(size));
    if (size === 2) bytes.setFloat16(0, value);
    else if (size === 4) bytes.setFloat32(0, value);
    else bytes.setFloat64(0, value);
    this.append(new Uint8Array(bytes.buffer));
  }

  /** Writes a major type and its argument in the fewest bytes (RFC 8949 §3). */
  #head(major: number, argument: number): void {
    const first = major << 5;
    const buffer = this.#reserve(MAX_HEAD_BYTES);
    if (argument < 24) this.#at = buffer.writeUInt8(first | argument, this.#at);
    else if (argument < 0x100) this.#at = buffer.writeUInt16BE(((first | 24) << 8) | argument, this.#at);
    else if (argument < 0x1_0000) this.#at = buffer.writeUInt16BE(argument, buffer.writeUInt8(first | 25, this.#at));
    else if (argument < 0x1_0000_0000) this.#at = buffer.writeUInt32BE(argument, buffer.writeUInt8(first | 26, this.#at));
    else this.#at = buffer.writeBigUInt64BE(BigInt(argument), buffer.writeUInt8(first | 27, this.#at));
  }

  #byte(byte: number): void {
    this.#at = this.#reserve(1).writeUInt8(byte, this.#at);
  }

  /** Appends bytes without a head. */
  append(bytes: Uint8Array): void {
    this.#reserve(bytes.length).set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Makes space for `length` more bytes, and returns the buffer. */
  #reserve(length: number): Buffer {
    const needed = this.#at + length;
    if (needed <= this.#buffer.length) return this.#buffer;
    const larger = Buffer.allocUnsafe(needed * 2);
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
    return larger;
  }
}

/** Returns whether all keys are non-negative integers in ascending order. Most maps have such keys, and need no sorting. */
function areNumbersInOrder(keys: Iterable<unknown>): boolean {
  let before = -1;
  for (const key of keys) {
    if (typeof key !== 'number' || !Number.isSafeInteger(key) || Object.is(key, -0) || key <= before) return false;
    before = key;
  }
  return true;
}

function writeKey(key: unknown): Uint8Array {
  if (!Number.isSafeInteger(key) && typeof key !== 'string') return refuseValue('has a key that is neither an integer nor text');
  const writer = new CborWriter(Buffer.allocUnsafe(KEY_BYTES));
  writer.write(key, 0);
  return writer.take();
}

function refuseValue(problem: string): never {
  throw new AtmoError('VALIDATION_ERROR', `The value cannot be written as CBOR: a part of it ${problem}`);
}

/**
 * Checks encoded CBOR without building a value. Accepts one value in the deterministic encoding (RFC 8949 §4.2.1). It may contain integers
 * within ±(2^53 − 1), text, byte strings, booleans, null, arrays, maps with integer or text keys and, if `limits` allows them, floats. The
 * work depends on the number of bytes, not on the lengths that the bytes claim. Throws VALIDATION_ERROR with the byte position.
 */
export function scanCbor(bytes: Uint8Array, limits: CborLimits): void {
  if (bytes.length > limits.maxBytes) refuseByte(0, `there are ${bytes.length} bytes, more than the ${limits.maxBytes} that are allowed`);
  new CborScan(bytes, limits).run();
}

class CborScan {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #limits: CborLimits;
  #at = 0;
  #items = 0;

  constructor(bytes: Uint8Array, limits: CborLimits) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limits = limits;
  }

  run(): void {
    this.#item(0);
    if (this.#at < this.#bytes.length) refuseByte(this.#at, 'more bytes follow after the value');
  }

  /** Checks one data item and returns its major type. */
  #item(depth: number): number {
    const start = this.#at;
    this.#items += 1;
    if (this.#items > this.#limits.maxItems) refuseByte(start, `there are more than ${this.#limits.maxItems} items`);
    const initial = this.#take(1, start);
    const major = initial >> 5;
    const info = initial & 31;
    if (major > MAJOR.tag) this.#simpleOrFloat(info, start);
    else if (major === MAJOR.tag) refuseByte(start, 'there is a tag, and none is allowed');
    else if (major >= MAJOR.array) this.#container(initial, depth);
    else this.#scalar(initial, start);
    return major;
  }

  #scalar(initial: number, start: number): void {
    const major = initial >> 5;
    const argument = this.#argument(initial & 31, start);
    if (major === MAJOR.text) this.#text(argument, start);
    else if (major === MAJOR.bytes) this.#skip(argument, start);
    else if (argument + major > Number.MAX_SAFE_INTEGER) refuseByte(start, 'an integer lies outside ±(2^53 − 1)');
  }

  #container(initial: number, depth: number): void {
    const start = this.#at - 1;
    const length = this.#argument(initial & 31, start);
    if (depth >= this.#limits.maxDepth) refuseByte(start, `values are nested deeper than ${this.#limits.maxDepth} levels`);
    const isMap = initial >> 5 === MAJOR.map;
    // Each item takes at least one byte, so a length above the remaining bytes is refused before the loop.
    this.#requireLeft(isMap ? length * 2 : length, start);
    if (isMap) this.#entries(length, depth);
    else for (let index = 0; index < length; index++) this.#item(depth + 1);
  }

  #entries(length: number, depth: number): void {
    let previous = -1;
    for (let index = 0; index < length; index++) {
      const start = this.#at;
      const major = this.#item(depth + 1);
      if (major !== MAJOR.text && major > MAJOR.negative) refuseByte(start, 'a key of a map is neither an integer nor text');
      if (previous >= 0) this.#requireAscending(previous, start);
      previous = start;
      this.#item(depth + 1);
    }
  }

  /** Throws VALIDATION_ERROR unless the second key sorts after the first. Different keys differ in a byte: none is a prefix of another. */
  #requireAscending(previous: number, start: number): void {
    const length = this.#at - start;
    let same = 0;
    while (same < length && this.#bytes[previous + same] === this.#bytes[start + same]) same += 1;
    if (same === length) refuseByte(start, 'a key of a map stands there twice');
    if (this.#view.getUint8(previous + same) > this.#view.getUint8(start + same)) {
      refuseByte(start, 'the keys of a map are not sorted by their bytes');
    }
  }

  #text(length: number, start: number): void {
    const from = this.#at;
    this.#skip(length, start);
    if (this.#isAscii(from)) return;
    if (!isUtf8(this.#bytes.subarray(from, this.#at))) refuseByte(start, 'a text is not valid UTF-8');
    // cbor-x drops a byte order mark at the beginning of a long text, so two different encodings would decode to the same text.
    const startsWithMark = length >= 3 && this.#view.getUint32(from - 1) % 0x100_0000 === BYTE_ORDER_MARK;
    if (startsWithMark) refuseByte(start, 'a text begins with a byte order mark');
  }

  #isAscii(from: number): boolean {
    if (this.#at - from > SHORT_TEXT_BYTES) return isAscii(this.#bytes.subarray(from, this.#at));
    for (let at = from; at < this.#at; at++) if (this.#view.getUint8(at) > 0x7f) return false;
    return true;
  }

  #simpleOrFloat(info: number, start: number): void {
    if (FALSE_TRUE_NULL.includes(info)) return;
    if (info < 25 || info > 27) refuseByte(start, `simple value or break ${info} is not allowed`);
    if (this.#limits.floats === 'refused') refuseByte(start, 'there is a floating-point number, and only integers are allowed');
    const size = 1 << (info - 24);
    this.#requireLeft(size, start);
    this.#requireShortestFloat(size, start);
    this.#at += size;
  }

  #requireShortestFloat(size: number, start: number): void {
    const value = readFloat(this.#view, this.#at, size);
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) refuseByte(start, 'an integer is written as a floating-point number');
    const isShortest = size === floatSize(value) && (!Number.isNaN(value) || this.#view.getUint16(this.#at) === 0x7e00);
    if (!isShortest) refuseByte(start, 'a floating-point number is not in its shortest form');
  }

  /** Reads the argument of a head (RFC 8949 §3). The result lies below 2^64, and is not exact above 2^53. */
  #argument(info: number, start: number): number {
    if (info < 24) return info;
    if (info === 31) refuseByte(start, 'a length is indefinite');
    if (info > 27) refuseByte(start, `additional information ${info} is reserved`);
    const size = 1 << (info - 24);
    const value = this.#take(size, start);
    if (value < (LEAST_OF_SIZE[size] ?? 0)) refuseByte(start, 'a head is longer than its value needs');
    return value;
  }

  #take(size: number, start: number): number {
    this.#requireLeft(size, start);
    const at = this.#at;
    this.#at += size;
    if (size === 1) return this.#view.getUint8(at);
    if (size === 2) return this.#view.getUint16(at);
    if (size === 4) return this.#view.getUint32(at);
    return this.#view.getUint32(at) * 0x1_0000_0000 + this.#view.getUint32(at + 4);
  }

  #skip(length: number, start: number): void {
    this.#requireLeft(length, start);
    this.#at += length;
  }

  #requireLeft(length: number, start: number): void {
    if (length > this.#bytes.length - this.#at) refuseByte(start, 'the bytes end before the value does');
  }
}

/** Returns the size in bytes (2, 4 or 8) of the shortest IEEE 754 format that holds the value exactly (RFC 8949 §4.2.2). */
function floatSize(value: number): 2 | 4 | 8 {
  if (Number.isNaN(value) || Math.f16round(value) === value) return 2;
  return Math.fround(value) === value ? 4 : 8;
}

function readFloat(view: DataView, at: number, size: number): number {
  if (size === 2) return view.getFloat16(at);
  return size === 4 ? view.getFloat32(at) : view.getFloat64(at);
}

function refuseByte(byte: number, reason: string): never {
  throw new AtmoError('VALIDATION_ERROR', `CBOR refused at byte ${byte}: ${reason}`, { byte });
}
