import type { Json } from '../../src/core/json.ts';

/** Matter values as JSON: bytes become `{ $bytes: hex }`, integers beyond JSON's safe range `{ $bigint: decimal }`. */
export function toJson(value: unknown): Json {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return isSafe(value) ? Number(value) : { $bigint: value.toString() };
  if (ArrayBuffer.isView(value)) return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex') };
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object') return value as Json;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, toJson(member)]),
  );
}

/** The reverse of toJson: what matter.js takes as a value. */
export function fromJson(json: Json): unknown {
  if (json === null || typeof json !== 'object') return json;
  if (Array.isArray(json)) return json.map(fromJson);
  const { $bytes, $bigint } = json as { readonly $bytes?: Json; readonly $bigint?: Json };
  if (typeof $bytes === 'string') return new Uint8Array(Buffer.from($bytes, 'hex'));
  if (typeof $bigint === 'string') return BigInt($bigint);
  return Object.fromEntries(Object.entries(json).map(([name, member]) => [name, fromJson(member)]));
}

function isSafe(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
}
