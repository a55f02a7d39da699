import type { HubId } from '../core/ids.ts';
import { requireBytes } from './message-scalars.ts';
import { type Place, refuse, type WireType } from './message-type.ts';

/** Up to here digits are put together faster one by one. */
const SHORT_BYTES = 16;
const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

interface ByteBounds {
  readonly min: number;
  readonly max: number;
}

/** Bytes that are hexadecimal text, in lower case, in TypeScript. */
export function hex({ min, max }: ByteBounds): WireType<string> {
  return textual({ min, max, prefix: '', encoding: 'hex' });
}

/** Bytes that are base64url text without padding, behind a fixed prefix, in TypeScript. */
export function base64url({ min, max, prefix = '' }: ByteBounds & { readonly prefix?: string }): WireType<string> {
  return textual({ min, max, prefix, encoding: 'base64url' });
}

/** A raw Ed25519 public key: 32 bytes, base64url text in TypeScript. */
export const publicKey: WireType<string> = base64url({ min: 32, max: 32 });
/** The id of a hub: the 8 bytes behind `hub-`. */
export const hubId = textual({ min: 8, max: 8, prefix: 'hub-', encoding: 'hex' }) as WireType<HubId>;
/** The id of a mesh: the 8 bytes behind `mesh-`. */
export const meshId: WireType<string> = textual({ min: 8, max: 8, prefix: 'mesh-', encoding: 'hex' });

interface TextForm extends ByteBounds {
  readonly prefix: string;
  readonly encoding: 'hex' | 'base64url';
}

/** Bytes on the wire, text in TypeScript; each byte string has one text. */
function textual({ min, max, prefix, encoding }: TextForm): WireType<string> {
  const isShortHex = encoding === 'hex' && max <= SHORT_BYTES;
  const format = (bytes: Uint8Array): string => prefix + (isShortHex ? hexOf(bytes) : textOf(bytes, encoding));
  const parse = (value: unknown, at: Place): Uint8Array => {
    const text = typeof value === 'string' ? value : refuse(at, 'is not text');
    const bytes = Uint8Array.from(Buffer.from(text.slice(prefix.length), encoding));
    if (format(bytes) !== text) return refuse(at, `is not ${prefix === '' ? '' : `${prefix} and `}${encoding}`);
    return requireBytes(bytes, at, { min, max });
  };
  return { toCbor: parse, fromCbor: (value, at) => format(requireBytes(value, at, { min, max })) };
}

function hexOf(bytes: Uint8Array): string {
  let digits = '';
  for (const byte of bytes) digits += HEX_OF_BYTE[byte];
  return digits;
}

function textOf(bytes: Uint8Array, encoding: 'hex' | 'base64url'): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding);
}
