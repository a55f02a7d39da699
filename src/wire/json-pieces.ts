import { randomUUID } from 'node:crypto';
import type { Json, JsonSchema } from '../core/json.ts';
import { mapBase64 } from './base64-places.ts';
import { canonicalJson } from './canonical-json.ts';
import type { CborValue } from './cbor.ts';
import { type Place, refuse, type WireType } from './message-type.ts';

/** RFC 8785 text, whole, or cut where strings in it are base64: text, bytes, text, … and text at the end. */
export type JsonPieces = string | readonly (string | Uint8Array)[];

/** A JSON value as text, which is hashed and signed, and as it travels. */
export interface WrittenJson {
  readonly text: string;
  readonly pieces: JsonPieces;
}

/** Most byte strings in one text. */
export const MAX_BYTE_STRINGS = 64;

/** The value with bytes where its schema says `contentEncoding: base64`, and nowhere else. VALIDATION_ERROR as `canonicalJson`. */
export function writtenJson(value: Json, schema: JsonSchema): WrittenJson {
  const encoded: string[] = [];
  const mark = randomUUID();
  const hollow = mapBase64(schema, value, ({ text }) => (encoded.length < MAX_BYTE_STRINGS && encoded.push(text) ? mark : text));
  const [first = '', ...rest] = canonicalJson(hollow).split(mark);
  const text = first + rest.map((after, index) => `${encoded[index]}${after}`).join('');
  if (rest.length === 0) return { text, pieces: text };
  const bytes = encoded.map((one) => new Uint8Array(Buffer.from(one, 'base64')));
  return { text, pieces: [first, ...rest.flatMap((after, index) => [bytes[index] ?? new Uint8Array(), after])] };
}

/** The text, whole. */
export function joinedJson(pieces: JsonPieces): string {
  return typeof pieces === 'string' ? pieces : pieces.map((piece) => (typeof piece === 'string' ? piece : base64Of(piece))).join('');
}

interface PiecesBounds {
  /** Most bytes of all pieces. */
  readonly max: number;
  /** In pieces, for who passes it on, or in one, for who reads it. */
  readonly arrives: 'in pieces' | 'in one';
}

/** RFC 8785 text that may have bytes in the place of base64. */
export function jsonPieces({ max, arrives }: PiecesBounds): WireType<JsonPieces> {
  const check = (value: unknown, at: Place): JsonPieces => {
    const pieces = typeof value === 'string' ? value : requirePieces(value, at);
    return lengthOf(pieces) <= max ? pieces : refuse(at, `is more than ${max} bytes`);
  };
  const owned = (pieces: JsonPieces): JsonPieces =>
    typeof pieces === 'string' ? pieces : pieces.map((piece) => (typeof piece === 'string' ? piece : new Uint8Array(piece)));
  const arrived = arrives === 'in one' ? joinedJson : owned;
  return { toCbor: (value, at): CborValue => check(value, at), fromCbor: (value, at) => arrived(check(value, at)) };
}

/** Bytes stand for a whole string: no other cut is one that anybody needs. */
function requirePieces(value: unknown, at: Place): readonly (string | Uint8Array)[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : refuse(at, 'is neither text nor pieces of it');
  if (items.length < 3 || items.length > 2 * MAX_BYTE_STRINGS + 1 || items.length % 2 === 0) {
    refuse(at, `does not have 1 to ${MAX_BYTE_STRINGS} byte strings, each between texts`);
  }
  return items.map((item, step) => {
    const place = { within: at, step };
    if (step % 2 === 1)
      return item instanceof Uint8Array && item.length > 0 ? item : refuse(place, 'is not a byte string, or an empty one');
    const isBetweenQuotes =
      typeof item === 'string' && (step === 0 || item.startsWith('"')) && (step === items.length - 1 || item.endsWith('"'));
    return isBetweenQuotes ? item : refuse(place, 'is not text that ends where a string begins');
  });
}

function lengthOf(pieces: JsonPieces): number {
  if (typeof pieces === 'string') return Buffer.byteLength(pieces);
  return pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length), 0);
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
