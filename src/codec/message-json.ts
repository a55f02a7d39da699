import { randomUUID } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, tryParseJson } from '../core/json.ts';
import { mapBase64, mentionsBase64 } from './base64.ts';
import { canonicalJson } from './canonical-json.ts';
import type { CborValue } from './cbor.ts';
import { refuse, textOf, type ValuePath, type WireType } from './message-schema.ts';

/** Returns the wire type of a JSON object. It is sent as RFC 8785 text of at most `max` bytes, because messages allow no CBOR floats. */
export function jsonObject({ max }: { readonly max: number }): WireType<JsonObject> {
  const bounded = (text: string, at: ValuePath): string =>
    Buffer.byteLength(text) <= max ? text : refuse(at, `is JSON text of more than ${max} bytes`);
  return {
    toCbor: (value, at) => bounded(canonicalText(value, at), at),
    fromCbor: (text, at) => (typeof text === 'string' ? parseJsonObject(bounded(text, at), at) : refuse(at, 'is not text')),
  };
}

/** Parses RFC 8785 text. Throws VALIDATION_ERROR for JSON in any other form, because each value must have one hash. */
export function parseJson(text: string, at: ValuePath): Json {
  const value = tryParseJson(text);
  if (value === undefined) return refuse(at, 'is not JSON');
  return canonicalText(value, at) === text ? value : refuse(at, 'is not the RFC 8785 form of its value');
}

/** Parses RFC 8785 text of a JSON object. Throws VALIDATION_ERROR for any other text. */
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

/** RFC 8785 text as one string, or as a list (text, bytes, text, …, text) in which bytes replace base64 strings. */
export type JsonPieces = string | readonly (string | Uint8Array)[];

/** JSON value in two forms: the text that is hashed and signed, and the pieces that are sent. */
export interface WrittenJson {
  readonly text: string;
  readonly pieces: JsonPieces;
}

/** Maximum number of byte strings in the pieces of one JSON text. */
export const MAX_BYTE_STRINGS = 64;

/** Returns both forms of a value. In `pieces`, bytes replace the strings that the schema declares as base64 (at most 64 strings). */
export function writtenJson(value: Json, schema: JsonSchema): WrittenJson {
  if (!mentionsBase64(schema)) {
    const whole = canonicalJson(value);
    return { text: whole, pieces: whole };
  }
  const encoded: string[] = [];
  const mark = randomUUID();
  const hollow = mapBase64(schema, value, ({ text }) => (encoded.length < MAX_BYTE_STRINGS && encoded.push(text) ? mark : text));
  const [first = '', ...rest] = canonicalJson(hollow).split(mark);
  const text = first + rest.map((after, index) => `${encoded[index]}${after}`).join('');
  if (rest.length === 0) return { text, pieces: text };
  const bytes = encoded.map((one) => new Uint8Array(Buffer.from(one, 'base64')));
  return { text, pieces: [first, ...rest.flatMap((after, index) => [bytes[index] ?? new Uint8Array(), after])] };
}

/** Returns the whole text of the pieces, with bytes encoded as base64 again. */
export function joinedJson(pieces: JsonPieces): string {
  return typeof pieces === 'string'
    ? pieces
    : pieces.map((piece) => (typeof piece === 'string' ? piece : textOf(piece, 'base64'))).join('');
}

/**
 * Returns the wire type for RFC 8785 text of at most `max` bytes, whole or in pieces (`JsonPieces`). `arrives` is the form after decoding.
 * `in pieces`: the form that was sent, which the hub can forward unchanged. `in one`: one string, which the hub can parse.
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

/** Checks that texts and byte strings alternate, and that JSON quotation marks surround each byte string. */
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
