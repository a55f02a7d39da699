import { randomUUID } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, tryParseJson } from '../core/json.ts';
import { mapBase64 } from './base64.ts';
import { canonicalJson } from './canonical-json.ts';
import type { CborValue } from './cbor.ts';
import { refuse, type ValuePath, type WireType } from './message-schema.ts';

/** A JSON object; its RFC 8785 text of at most `max` UTF-8 bytes travels, since CBOR here has no fractions. */
export function jsonObject({ max }: { readonly max: number }): WireType<JsonObject> {
  const bounded = (text: string, at: ValuePath): string =>
    Buffer.byteLength(text) <= max ? text : refuse(at, `is JSON text of more than ${max} bytes`);
  return {
    toCbor: (value, at) => bounded(canonicalText(value, at), at),
    fromCbor: (text, at) => (typeof text === 'string' ? parseJsonObject(bounded(text, at), at) : refuse(at, 'is not text')),
  };
}

/** Parses RFC 8785 text. Throws VALIDATION_ERROR for other JSON: one value must have one hash. */
export function parseJson(text: string, at: ValuePath): Json {
  const value = tryParseJson(text);
  if (value === undefined) return refuse(at, 'is not JSON');
  return canonicalText(value, at) === text ? value : refuse(at, 'is not the RFC 8785 form of its value');
}

/** The same for objects only. */
export function parseJsonObject(text: string, at: ValuePath): JsonObject {
  const value = parseJson(text, at);
  return isJsonObject(value) ? value : refuse(at, 'is not a JSON object');
}

function canonicalText(value: Json, at: ValuePath): string {
  try {
    return canonicalJson(value);
  } catch (error) {
    return refuse(at, error instanceof AtmoError ? `is no JSON value: ${error.message}` : 'is no JSON value');
  }
}

/** RFC 8785 text, whole, or cut where strings in it are base64: text, bytes, text, … with text at the end. */
export type JsonPieces = string | readonly (string | Uint8Array)[];

/** A JSON value as text, which is hashed and signed, and in its form on the wire. */
export interface WrittenJson {
  readonly text: string;
  readonly pieces: JsonPieces;
}

/** Most byte strings in one text. */
export const MAX_BYTE_STRINGS = 64;

/** Writes a value with bytes where its schema has `contentEncoding: base64`, and nowhere else. Throws as `canonicalJson`. */
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

/** Joins pieces to the whole text. */
export function joinedJson(pieces: JsonPieces): string {
  return typeof pieces === 'string' ? pieces : pieces.map((piece) => (typeof piece === 'string' ? piece : base64Of(piece))).join('');
}

/**
 * RFC 8785 text of at most `max` bytes that may have bytes in the place of base64. It is decoded in pieces for a hub that forwards it, or
 * joined for the hub that reads it.
 */
export function jsonPieces({ max, arrives }: { readonly max: number; readonly arrives: 'in pieces' | 'in one' }): WireType<JsonPieces> {
  const check = (value: unknown, at: ValuePath): JsonPieces => {
    const pieces = typeof value === 'string' ? value : requirePieces(value, at);
    return lengthOf(pieces) <= max ? pieces : refuse(at, `is more than ${max} bytes`);
  };
  const owned = (pieces: JsonPieces): JsonPieces =>
    typeof pieces === 'string' ? pieces : pieces.map((piece) => (typeof piece === 'string' ? piece : new Uint8Array(piece)));
  const arrived = arrives === 'in one' ? joinedJson : owned;
  return { toCbor: (value, at): CborValue => check(value, at), fromCbor: (value, at) => arrived(check(value, at)) };
}

/** Bytes stand for a whole string: no other cut is needed. */
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
