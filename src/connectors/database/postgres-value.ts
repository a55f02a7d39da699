import type { Json } from '../../core/json.ts';

/** Type numbers of pg_type.dat. */
const BOOLEAN = 16;
const BYTES = 17;
const NUMBERS = new Set([20, 21, 23, 26, 700, 701]);
const JSONS = new Set([114, 3802]);

/** A value of PostgreSQL from its text: numbers where JavaScript has them exactly, JSON, bytes as base64; else the text. */
export function postgresValue(text: string | null, type: number): Json {
  if (text === null) return null;
  if (type === BOOLEAN) return text === 't';
  if (type === BYTES) return Buffer.from(text.slice(2), 'hex').toString('base64');
  if (JSONS.has(type)) return JSON.parse(text) as Json;
  return NUMBERS.has(type) ? exactNumber(text) : text;
}

function exactNumber(text: string): Json {
  const value = Number(text);
  const isExact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value) || /[.e]/.test(text));
  return isExact ? value : text;
}
