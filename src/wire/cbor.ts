import { Decoder, type Options } from 'cbor-x/decode';
import { CBOR_LIMITS, type CborLimits, scanCbor } from './cbor-scan.ts';
import { writeCbor } from './cbor-writer.ts';

/** What travels as CBOR here. Integers lie within ±(2^53 − 1); keys of maps are such integers or text. */
export type CborValue = number | string | boolean | null | Uint8Array | readonly CborValue[] | CborMap;
/** A map; the order of its entries means nothing. */
export type CborMap = ReadonlyMap<number | string, CborValue>;

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
  return writeCbor(value);
}

/**
 * Decodes what `encodeCbor` made, and nothing else: bytes that are accepted are the only ones for their value, so equal
 * values have equal hashes. The answer shares no memory with the bytes. VALIDATION_ERROR names the reason and the byte.
 */
export function decodeCbor(bytes: Uint8Array, limits: Partial<CborLimits> = {}): CborValue {
  return viewCbor(new Uint8Array(bytes), limits);
}

/** The same without a copy: byte strings of the answer are windows on the bytes, for who takes out at once what is kept. */
export function viewCbor(bytes: Uint8Array, limits: Partial<CborLimits> = {}): CborValue {
  scanCbor(bytes, { ...CBOR_LIMITS, ...limits });
  // An object of its own: cbor-x leaves a member on what it is given, and windows on a Buffer would be Buffers.
  return decoder.decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)) as CborValue;
}
