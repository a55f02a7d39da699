/** A vector of length 1, in which a product of two is the cosine of the angle between them; zeros stay zeros. */
export function unitVector(values: readonly number[]): Float32Array<ArrayBuffer> {
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => (length === 0 ? 0 : value / length));
}

/** Cosine of the angle between two unit vectors of one length, -1 to 1. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** The bytes in which a vector is kept: IEEE 754 single precision, little-endian as every machine is that the hub runs on. */
export function vectorBytes(vector: Float32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** The other way round. */
export function vectorOfBytes(bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const isAligned = bytes.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset, byteLength } = isAligned ? bytes : bytes.slice();
  return new Float32Array(buffer, byteOffset, Math.floor(byteLength / Float32Array.BYTES_PER_ELEMENT));
}
