import { decode } from 'cborg';

const COSE_SIGN1_PROTECTED = 'a10127';

/**
 * Diagnostic notation (RFC 8949 §8) of bytes, by a decoder that is not ours. What is signed is shown as embedded CBOR, `<<…>>`
 * (RFC 8610 appendix G).
 */
export function diagnosticOf(bytes: Uint8Array): string {
  return write(decode(bytes, { useMaps: true, strict: true }));
}

function write(value: unknown): string {
  if (value instanceof Uint8Array) return writeBytes(value);
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `${write(key)}: ${write(item)}`).join(', ')}}`;
  if (Array.isArray(value)) return `[${(isSign1(value) ? embedded(value) : value.map(write)).join(', ')}]`;
  return JSON.stringify(value);
}

function writeBytes(bytes: Uint8Array): string {
  const isSigned = bytes[0] === 0x84 && bytes[1] === 0x43 && bytes.length > 70;
  return isSigned ? `<<${diagnosticOf(bytes)}>>` : `h'${Buffer.from(bytes).toString('hex')}'`;
}

function isSign1(items: readonly unknown[]): boolean {
  const [header] = items;
  return items.length === 4 && header instanceof Uint8Array && Buffer.from(header).toString('hex') === COSE_SIGN1_PROTECTED;
}

function embedded([header, unprotected, payload, signature]: readonly unknown[]): readonly string[] {
  const inside = (bytes: unknown): string => `<<${diagnosticOf(bytes instanceof Uint8Array ? bytes : new Uint8Array())}>>`;
  return [inside(header), write(unprotected), inside(payload), write(signature)];
}
