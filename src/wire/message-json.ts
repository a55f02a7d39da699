import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { canonicalJson } from './canonical-json.ts';
import { type Place, refuse, type WireType } from './message-type.ts';

/** Any JSON value; its RFC 8785 text of at most `max` UTF-8 bytes travels, since CBOR here has no fractions. */
export function json({ max }: { readonly max: number }): WireType<Json> {
  const require = (length: number, at: Place): void => {
    if (length > max) refuse(at, `is JSON text of ${length} bytes, more than ${max}`);
  };
  return {
    toCbor: (value, at) => {
      const text = canonicalText(value, at);
      require(Buffer.byteLength(text), at);
      return text;
    },
    fromCbor: (text, at) => {
      if (typeof text !== 'string') return refuse(at, 'is not text');
      require(Buffer.byteLength(text), at);
      return parse(text, at);
    },
  };
}

/** The same for objects only. */
export function jsonObject(bounds: { readonly max: number }): WireType<JsonObject> {
  const { toCbor, fromCbor } = json(bounds);
  return {
    toCbor,
    fromCbor: (text, at) => {
      const value = fromCbor(text, at);
      return isJsonObject(value) ? value : refuse(at, 'is not a JSON object');
    },
  };
}

function parse(text: string, at: Place): Json {
  const value = parsed(text) ?? refuse(at, 'is not JSON');
  // A value has one text: whoever hashes the one hashes the other.
  return canonicalText(value.json, at) === text ? value.json : refuse(at, 'is not the RFC 8785 form of its value');
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
