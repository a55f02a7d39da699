import { isAscii, isUtf8 } from 'node:buffer';
import { Decoder, type Options } from 'cbor-x/decode';
import { AtmoError } from '../core/errors.ts';

/** A value that hubs send as CBOR. Integers lie within ±(2^53 − 1); keys of maps are such integers or text. */
export type CborValue = number | string | boolean | null | Uint8Array | readonly CborValue[] | CborMap;
/** A map; the order of its entries has no meaning. */
export type CborMap = ReadonlyMap<number | string, CborValue>;

/** Bounds of the work that a sender can cause. */
export interface CborLimits {
  readonly maxBytes: number;
  /** Arrays and maps inside each other; a value that is neither has depth 0. */
  readonly maxDepth: number;
  /** Data items in all: each array, map, key and value counts. */
  readonly maxItems: number;
  /** Numbers with a fraction, infinities and NaN; signed messages have none. */
  readonly floats: 'refused' | 'allowed';
}

/** The limits of a message that has none of its own. */
export const CBOR_LIMITS: CborLimits = { maxBytes: 65_536, maxDepth: 16, maxItems: 4096, floats: 'refused' };

const OPTIONS: Options & { readonly int64AsNumber: true } = {
  useRecords: false,
  variableMapSize: true,
  tagUint8Array: false,
  mapsAsObjects: false,
  // The scan has refused every integer that a number cannot hold exactly.
  int64AsNumber: true,
};
// The entry point `cbor-x/decode` never loads the optional native part.
const decoder = new Decoder(OPTIONS);

/**
 * The deterministic encoding (RFC 8949 §4.2.1): shortest heads and floats, definite lengths, keys sorted by their bytes.
 * Integers outside ±(2^53 − 1) are written as floating-point numbers. Throws VALIDATION_ERROR for values other than `CborValue`,
 * text that is no Unicode or begins with a byte order mark, and nesting beyond 16.
 */
export function encodeCbor(value: CborValue): Uint8Array {
  const writer = new CborWriter(Buffer.allocUnsafe(MESSAGE_BYTES));
  writer.write(value, 0);
  return writer.take();
}

/**
 * Decodes the output of `encodeCbor`, and nothing else: each value has one encoding, so equal values have equal hashes. The
 * value shares no memory with the bytes. Throws VALIDATION_ERROR with the reason and the position of the byte.
 */
export function decodeCbor(bytes: Uint8Array, limits: Partial<CborLimits> = {}): CborValue {
  return viewCbor(new Uint8Array(bytes), limits);
}

/** The same without a copy: byte strings of the value are views of the bytes, for callers that copy at once what they store. */
export function viewCbor(bytes: Uint8Array, limits: Partial<CborLimits> = {}): CborValue {
  scanCbor(bytes, { ...CBOR_LIMITS, ...limits });
  // A new object: cbor-x adds a member to its argument, and views of a Buffer would be Buffers.
  return decoder.decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)) as CborValue;
}

/** Major types (RFC 8949 §3.1). */
const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;
const FALSE_TRUE_NULL: readonly number[] = [20, 21, 22];
/** Smallest value that needs an argument of 1, 2, 4 or 8 bytes (RFC 8949 §4.2.1). */
const LEAST_OF_SIZE: Readonly<Record<number, number>> = { 1: 24, 2: 0x100, 4: 0x1_0000, 8: 0x1_0000_0000 };
const BYTE_ORDER_MARK = 0xef_bb_bf;
/** Up to this length, a loop is faster than a call of the runtime. */
const SHORT_TEXT_BYTES = 64;
const MAX_DEPTH = CBOR_LIMITS.maxDepth;
/** Sizes of the first buffer: most messages fit, and so do most keys. */
const MESSAGE_BYTES = 512;
const KEY_BYTES = 16;
const MAX_HEAD_BYTES = 9;
const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;
const FLOAT_OF_SIZE = { 2: 0xf9, 4: 0xfa, 8: 0xfb } as const;

/** Writes the beginning unchanged and each part behind it as a byte string, with one allocation: every signed message passes here. */
export function writeByteStrings(beginning: Uint8Array, parts: readonly Uint8Array[]): Uint8Array {
  const bytes = parts.reduce((sum, part) => sum + MAX_HEAD_BYTES + part.length, beginning.length);
  // Not from the pool, so that the result needs no copy.
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

  /** Copies the bytes written so far. */
  take(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#buffer, 0, this.#at);
  }

  /** The bytes written so far, a view of the buffer. */
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

  /** Major type and argument in the fewest bytes (RFC 8949 §3). */
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

  /** Returns the buffer with space for `length` more bytes. */
  #reserve(length: number): Buffer {
    const needed = this.#at + length;
    if (needed <= this.#buffer.length) return this.#buffer;
    const larger = Buffer.allocUnsafe(needed * 2);
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
    return larger;
  }
}

/** True for the keys of messages: encoded whole numbers sort as the numbers do, so such maps need no sorting. */
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
 * Checks encoded CBOR without building a value. Accepts only the deterministic encoding (RFC 8949 §4.2.1) of one value made of
 * integers within ±(2^53 − 1), text, byte strings, booleans, null, arrays, and maps with integers or text as keys. Its work is
 * bounded by the number of bytes, whatever lengths they announce. Throws VALIDATION_ERROR with the position of the byte.
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
    // Each item takes at least one byte: a length beyond the rest of the bytes is refused before a loop begins.
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

  /** Compares two encoded keys; neither can begin with the other, so they differ before the shorter one ends. */
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
    // cbor-x drops the mark of a long text, and then two encodings would mean the same value.
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

  /** The argument of a head (RFC 8949 §3): a value below 2^64, inexact beyond 2^53. */
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

/** Bytes of the shortest IEEE 754 form that holds the value exactly: 2, 4 or 8 (RFC 8949 §4.2.2). */
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
