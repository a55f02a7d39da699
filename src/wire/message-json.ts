import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { canonicalJson } from './canonical-json.ts';
import { type Place, refuse, type WireType } from './message-type.ts';

/** A JSON object; its RFC 8785 text of at most `max` UTF-8 bytes travels, since CBOR here has no fractions. */
export function jsonObject({ max }: { readonly max: number }): WireType<JsonObject> {
  const bounded = (text: string, at: Place): string =>
    Buffer.byteLength(text) <= max ? text : refuse(at, `is JSON text of more than ${max} bytes`);
  return {
    toCbor: (value, at) => bounded(canonicalText(value, at), at),
    fromCbor: (text, at) => (typeof text === 'string' ? parseJsonObject(bounded(text, at), at) : refuse(at, 'is not text')),
  };
}

/** The value of RFC 8785 text; VALIDATION_ERROR for any other text of it: who hashes the one hashes the other. */
export function parseJson(text: string, at: Place): Json {
  const value = parsed(text) ?? refuse(at, 'is not JSON');
  return canonicalText(value.json, at) === text ? value.json : refuse(at, 'is not the RFC 8785 form of its value');
}

/** The same for objects only. */
export function parseJsonObject(text: string, at: Place): JsonObject {
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

function canonicalText(value: Json, at: Place): string {
  try {
    return canonicalJson(value);
  } catch (error) {
    return refuse(at, error instanceof AtmoError ? `is no JSON value: ${error.message}` : 'is no JSON value');
  }
}
