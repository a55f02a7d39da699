import { randomUUID } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../core/json.ts';
import { mapBase64 } from './base64.ts';
import { canonicalJson } from './canonical-json.ts';
import type { CborValue } from './cbor.ts';
import { refuse, type ValuePath, type WireType } from './message-values.ts';

/** A JSON object; its RFC 8785 text of at most `max` UTF-8 bytes travels, since CBOR here has no fractions. */
export function jsonObject({ max }: { readonly max: number }): WireType<JsonObject> {
  const bounded = (text: string, at: ValuePath): string =>
    Buffer.byteLength(text) <= max ? text : refuse(at, `is JSON text of more than ${max} bytes`);
  return {
    toCbor: (value, at) => bounded(canonicalText(value, at), at),
    fromCbor: (text, at) => (typeof text === 'string' ? parseJsonObject(bounded(text, at), at) : refuse(at, 'is not text')),
  };
}

/** The value of RFC 8785 text; VALIDATION_ERROR for any other text of it: who hashes the one hashes the other. */
export function parseJson(text: string, at: ValuePath): Json {
  const value = parsed(text) ?? refuse(at, 'is not JSON');
  return canonicalText(value.json, at) === text ? value.json : refuse(at, 'is not the RFC 8785 form of its value');
}

/** The same for objects only. */
export function parseJsonObject(text: string, at: ValuePath): JsonObject {
  const value = parseJson(text, at);
  return isJsonObject(value) ? value : refuse(at, 'is not a JSON object');
}

function parsed(text: string): { readonly json: Json } | undefined {
  try {
    return { json: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

function canonicalText(value: Json, at: ValuePath): string {
  try {
    return canonicalJson(value);
  } catch (error) {
    return refuse(at, error instanceof AtmoError ? `is no JSON value: ${error.message}` : 'is no JSON value');
  }
}

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
  const check = (value: unknown, at: ValuePath): JsonPieces => {
    const pieces = typeof value === 'string' ? value : requirePieces(value, at);
    return lengthOf(pieces) <= max ? pieces : refuse(at, `is more than ${max} bytes`);
  };
  const owned = (pieces: JsonPieces): JsonPieces =>
    typeof pieces === 'string' ? pieces : pieces.map((piece) => (typeof piece === 'string' ? piece : new Uint8Array(piece)));
  const arrived = arrives === 'in one' ? joinedJson : owned;
  return { toCbor: (value, at): CborValue => check(value, at), fromCbor: (value, at) => arrived(check(value, at)) };
}

/** Bytes stand for a whole string: no other cut is one that anybody needs. */
function requirePieces(value: unknown, at: ValuePath): readonly (string | Uint8Array)[] {
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
