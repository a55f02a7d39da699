import { isAscii, isUtf8 } from 'node:buffer';
import { AtmoError } from '../core/errors.ts';

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

/** Major types (RFC 8949 §3.1). */
export const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;
const FALSE_TRUE_NULL: readonly number[] = [20, 21, 22];
/** Smallest value that needs an argument of 1, 2, 4 or 8 bytes (RFC 8949 §4.2.1). */
const LEAST_OF_SIZE: Readonly<Record<number, number>> = { 1: 24, 2: 0x100, 4: 0x1_0000, 8: 0x1_0000_0000 };
const BYTE_ORDER_MARK = 0xef_bb_bf;
/** Up to this length, a loop is faster than a call of the runtime. */
const SHORT_TEXT_BYTES = 64;

/**
 * Checks encoded CBOR without building a value. Accepts only the deterministic encoding (RFC 8949 §4.2.1) of one value made of
 * integers within ±(2^53 − 1), text, byte strings, booleans, null, arrays, and maps with integers or text as keys. Its work is
 * bounded by the number of bytes, whatever lengths they announce. Throws VALIDATION_ERROR with the position of the byte.
 */
export function scanCbor(bytes: Uint8Array, limits: CborLimits): void {
  if (bytes.length > limits.maxBytes) refuse(0, `there are ${bytes.length} bytes, more than the ${limits.maxBytes} that are allowed`);
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
    if (this.#at < this.#bytes.length) refuse(this.#at, 'more bytes follow after the value');
  }

  /** Checks one data item and returns its major type. */
  #item(depth: number): number {
    const start = this.#at;
    this.#items += 1;
    if (this.#items > this.#limits.maxItems) refuse(start, `there are more than ${this.#limits.maxItems} items`);
    const initial = this.#take(1, start);
    const major = initial >> 5;
    const info = initial & 31;
    if (major > MAJOR.tag) this.#simpleOrFloat(info, start);
    else if (major === MAJOR.tag) refuse(start, 'there is a tag, and none is allowed');
    else if (major >= MAJOR.array) this.#container(initial, depth);
    else this.#scalar(initial, start);
    return major;
  }

  #scalar(initial: number, start: number): void {
    const major = initial >> 5;
    const argument = this.#argument(initial & 31, start);
    if (major === MAJOR.text) this.#text(argument, start);
    else if (major === MAJOR.bytes) this.#skip(argument, start);
    else if (argument + major > Number.MAX_SAFE_INTEGER) refuse(start, 'an integer lies outside ±(2^53 − 1)');
  }

  #container(initial: number, depth: number): void {
    const start = this.#at - 1;
    const length = this.#argument(initial & 31, start);
    if (depth >= this.#limits.maxDepth) refuse(start, `values are nested deeper than ${this.#limits.maxDepth} levels`);
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
      if (major !== MAJOR.text && major > MAJOR.negative) refuse(start, 'a key of a map is neither an integer nor text');
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
    if (same === length) refuse(start, 'a key of a map stands there twice');
    if (this.#view.getUint8(previous + same) > this.#view.getUint8(start + same)) {
      refuse(start, 'the keys of a map are not sorted by their bytes');
    }
  }

  #text(length: number, start: number): void {
    const from = this.#at;
    this.#skip(length, start);
    if (this.#isAscii(from)) return;
    if (!isUtf8(this.#bytes.subarray(from, this.#at))) refuse(start, 'a text is not valid UTF-8');
    // cbor-x drops the mark of a long text, and then two encodings would mean the same value.
    const startsWithMark = length >= 3 && this.#view.getUint32(from - 1) % 0x100_0000 === BYTE_ORDER_MARK;
    if (startsWithMark) refuse(start, 'a text begins with a byte order mark');
  }

  #isAscii(from: number): boolean {
    if (this.#at - from > SHORT_TEXT_BYTES) return isAscii(this.#bytes.subarray(from, this.#at));
    for (let at = from; at < this.#at; at++) if (this.#view.getUint8(at) > 0x7f) return false;
    return true;
  }

  #simpleOrFloat(info: number, start: number): void {
    if (FALSE_TRUE_NULL.includes(info)) return;
    if (info < 25 || info > 27) refuse(start, `simple value or break ${info} is not allowed`);
    if (this.#limits.floats === 'refused') refuse(start, 'there is a floating-point number, and only integers are allowed');
    const size = 1 << (info - 24);
    this.#requireLeft(size, start);
    this.#requireShortestFloat(size, start);
    this.#at += size;
  }

  #requireShortestFloat(size: number, start: number): void {
    const value = readFloat(this.#view, this.#at, size);
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) refuse(start, 'an integer is written as a floating-point number');
    const isShortest = size === floatSize(value) && (!Number.isNaN(value) || this.#view.getUint16(this.#at) === 0x7e00);
    if (!isShortest) refuse(start, 'a floating-point number is not in its shortest form');
  }

  /** The argument of a head (RFC 8949 §3): a value below 2^64, inexact beyond 2^53. */
  #argument(info: number, start: number): number {
    if (info < 24) return info;
    if (info === 31) refuse(start, 'a length is indefinite');
    if (info > 27) refuse(start, `additional information ${info} is reserved`);
    const size = 1 << (info - 24);
    const value = this.#take(size, start);
    if (value < (LEAST_OF_SIZE[size] ?? 0)) refuse(start, 'a head is longer than its value needs');
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
    if (length > this.#bytes.length - this.#at) refuse(start, 'the bytes end before the value does');
  }
}

/** Bytes of the shortest IEEE 754 form that holds the value exactly: 2, 4 or 8 (RFC 8949 §4.2.2). */
export function floatSize(value: number): 2 | 4 | 8 {
  if (Number.isNaN(value) || Math.f16round(value) === value) return 2;
  return Math.fround(value) === value ? 4 : 8;
}

function readFloat(view: DataView, at: number, size: number): number {
  if (size === 2) return view.getFloat16(at);
  return size === 4 ? view.getFloat32(at) : view.getFloat64(at);
}

function refuse(byte: number, reason: string): never {
  throw new AtmoError('VALIDATION_ERROR', `CBOR refused at byte ${byte}: ${reason}`, { byte });
}
