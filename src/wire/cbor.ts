import { Decoder, type Options } from 'cbor-x/decode';
import { AtmoError } from '../core/errors.ts';
import { CBOR_LIMITS, type CborLimits, floatSize, scanCbor } from './cbor-scan.ts';

/** What travels as CBOR here. Integers lie within ±(2^53 − 1); keys of maps are such integers or text. */
export type CborValue = number | string | boolean | null | Uint8Array | readonly CborValue[] | CborMap;
/** A map; the order of its entries means nothing. */
export type CborMap = ReadonlyMap<number | string, CborValue>;

const MAX_DEPTH = CBOR_LIMITS.maxDepth;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;

const OPTIONS: Options & { readonly int64AsNumber: true } = {
  useRecords: false,
  variableMapSize: true,
  tagUint8Array: false,
  mapsAsObjects: false,
  // The scan has refused all that a number cannot hold exactly.
  int64AsNumber: true,
};
// The entry `cbor-x/decode` never loads the optional native part.
const decoder = new Decoder(OPTIONS);

/**
 * The deterministic encoding (RFC 8949 §4.2.1): shortest heads and floats, definite lengths, keys sorted by their bytes.
 * Integers outside ±(2^53 − 1) are written as floating-point numbers. VALIDATION_ERROR for what `CborValue` does not
 * name, text that is no Unicode or begins with a byte order mark, and nesting beyond 16.
 */
export function encodeCbor(value: CborValue): Uint8Array {
  const parts: Uint8Array[] = [];
  write(value, 0, parts);
  return new Uint8Array(Buffer.concat(parts));
}

/**
 * Decodes what `encodeCbor` made, and nothing else: bytes that are accepted are the only ones for their value, so equal
 * values have equal hashes. The answer shares no memory with the bytes. VALIDATION_ERROR names the reason and the byte.
 */
export function decodeCbor(bytes: Uint8Array, limits: Partial<CborLimits> = {}): CborValue {
  scanCbor(bytes, { ...CBOR_LIMITS, ...limits });
  return decoder.decode(new Uint8Array(bytes)) as CborValue;
}

function write(value: unknown, depth: number, parts: Uint8Array[]): void {
  if (value === null) parts.push(Uint8Array.of(NULL));
  else if (typeof value === 'boolean') parts.push(Uint8Array.of(value ? TRUE : FALSE));
  else if (typeof value === 'number') parts.push(writeNumber(value));
  else if (typeof value === 'string') writeText(value, parts);
  else if (value instanceof Uint8Array) parts.push(head(BYTES, value.length), value);
  else if (depth >= MAX_DEPTH) refuse(`is nested deeper than ${MAX_DEPTH} levels`);
  else if (Array.isArray(value)) writeArray(value, depth, parts);
  else if (value instanceof Map) writeMap(value, depth, parts);
  else refuse(`is ${typeof value === 'object' ? 'an object that is neither a Map nor an array' : typeof value}`);
}

function writeArray(items: readonly unknown[], depth: number, parts: Uint8Array[]): void {
  parts.push(head(ARRAY, items.length));
  for (const item of items) write(item, depth + 1, parts);
}

function writeMap(map: ReadonlyMap<unknown, unknown>, depth: number, parts: Uint8Array[]): void {
  const entries = Array.from(map, ([key, item]) => ({ key: writeKey(key), item })).sort((a, b) => Buffer.compare(a.key, b.key));
  parts.push(head(MAP, entries.length));
  for (const { key, item } of entries) {
    parts.push(key);
    write(item, depth + 1, parts);
  }
}

function writeKey(key: unknown): Uint8Array {
  if (Number.isSafeInteger(key) || typeof key === 'string') return encodeCbor(key as number | string);
  return refuse('has a key that is neither an integer nor text');
}

function writeText(text: string, parts: Uint8Array[]): void {
  if (!text.isWellFormed()) refuse('is text with half a surrogate pair');
  if (text.startsWith('\ufeff')) refuse('is text that begins with a byte order mark');
  const bytes = Buffer.from(text, 'utf8');
  parts.push(head(TEXT, bytes.length), bytes);
}

function writeNumber(value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) return writeFloat(value);
  return value < 0 ? head(NEGATIVE, -1 - value) : head(0, value);
}

function writeFloat(value: number): Uint8Array {
  const size = floatSize(value);
  const view = new DataView(new ArrayBuffer(1 + size));
  view.setUint8(0, { 2: 0xf9, 4: 0xfa, 8: 0xfb }[size]);
  if (size === 2) view.setFloat16(1, value);
  else if (size === 4) view.setFloat32(1, value);
  else view.setFloat64(1, value);
  return new Uint8Array(view.buffer);
}

/** Major type and argument in the fewest bytes (RFC 8949 §3). */
function head(major: number, argument: number): Uint8Array {
  const first = major << 5;
  if (argument < 24) return Uint8Array.of(first | argument);
  if (argument < 0x100) return Uint8Array.of(first | 24, argument);
  if (argument < 0x1_0000) return Uint8Array.of(first | 25, argument >> 8, argument & 0xff);
  const view = new DataView(new ArrayBuffer(argument < 0x1_0000_0000 ? 5 : 9));
  view.setUint8(0, first | (view.byteLength === 5 ? 26 : 27));
  if (view.byteLength === 5) view.setUint32(1, argument);
  else view.setBigUint64(1, BigInt(argument));
  return new Uint8Array(view.buffer);
}

function refuse(problem: string): never {
  throw new AtmoError('VALIDATION_ERROR', `The value cannot be written as CBOR: a part of it ${problem}`);
}
