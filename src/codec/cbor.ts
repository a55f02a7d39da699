import { Decoder, type Options } from 'cbor-x/decode';
import { AtmoError } from '../core/errors.ts';
import { CBOR_LIMITS, type CborLimits, floatSize, MAJOR, scanCbor } from './cbor-scan.ts';

/** A value that hubs send as CBOR. Integers lie within ±(2^53 − 1); keys of maps are such integers or text. */
export type CborValue = number | string | boolean | null | Uint8Array | readonly CborValue[] | CborMap;
/** A map; the order of its entries has no meaning. */
export type CborMap = ReadonlyMap<number | string, CborValue>;

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
    else if (depth >= MAX_DEPTH) refuse(`is nested deeper than ${MAX_DEPTH} levels`);
    else if (Array.isArray(value)) this.#array(value, depth);
    else if (value instanceof Map) this.#map(value, depth);
    else refuse(`is ${typeof value === 'object' ? 'an object that is neither a Map nor an array' : typeof value}`);
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
    if (!text.isWellFormed()) refuse('is text with half a surrogate pair');
    if (text.startsWith('\ufeff')) refuse('is text that begins with a byte order mark');
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
  if (!Number.isSafeInteger(key) && typeof key !== 'string') return refuse('has a key that is neither an integer nor text');
  const writer = new CborWriter(Buffer.allocUnsafe(KEY_BYTES));
  writer.write(key, 0);
  return writer.take();
}

function refuse(problem: string): never {
  throw new AtmoError('VALIDATION_ERROR', `The value cannot be written as CBOR: a part of it ${problem}`);
}
