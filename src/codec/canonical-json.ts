import { AtmoError } from '../core/errors.ts';
import { type Json, pointerTo } from '../core/json.ts';

const MAX_DEPTH = 256;

/**
 * Returns the canonical JSON text of a value (RFC 8785): keys are sorted by UTF-16 code units, numbers have the ECMAScript format, -0 is 0,
 * and there is no white space. Throws VALIDATION_ERROR with a JSON pointer if a part of the value is NaN, infinite, undefined, a function,
 * a text with a lone surrogate or an object that is not plain, or is nested deeper than 256 levels.
 */
export function canonicalJson(value: Json): string {
  return write(value, []);
}

/** The keys and indexes that lead to the value. One list serves the whole text, because a copy for each member costs more than its text. */
type Path = (string | number)[];

function write(value: unknown, path: Path): string {
  if (path.length > MAX_DEPTH) refuse(path.slice(0, 8), `is nested deeper than ${MAX_DEPTH} levels`);
  if (typeof value === 'string') return writeText(value, path);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return writeNumber(value, path);
  if (Array.isArray(value)) return writeArray(value, path);
  if (typeof value === 'object') return writeObject(value, path);
  return refuse(path, `is ${typeof value}, which JSON cannot carry`);
}

function writeText(text: string, path: Path): string {
  if (PLAIN.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) refuse(path, 'is text with half a surrogate pair, which UTF-8 cannot carry');
  return JSON.stringify(text);
}

/** Text of ASCII without the characters that JSON escapes (RFC 8259 §7). Most names and values are of this form. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Returns a text as `JSON.stringify` does. It takes less time for plain ASCII. */
export function jsonText(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function writeNumber(number: number, path: Path): string {
  if (!Number.isFinite(number)) refuse(path, `is ${number}, which JSON cannot carry; send null or a text`);
  return JSON.stringify(number);
}

function writeArray(items: readonly unknown[], path: Path): string {
  const last = path.length;
  let text = '';
  for (let index = 0; index < items.length; index++) {
    path[last] = index;
    text += `${index === 0 ? '' : ','}${write(items[index], path)}`;
  }
  path.length = last;
  return `[${text}]`;
}

function writeObject(object: object, path: Path): string {
  // Without this check, every Date and Map would become {}, and all of them would have the same hash.
  if (Object.prototype.toString.call(object) !== '[object Object]') refuse(path, 'is not a plain object');
  const members = object as Readonly<Record<string, unknown>>;
  const last = path.length;
  let text = '';
  for (const key of Object.keys(members).sort()) {
    path[last] = key;
    text += `${text === '' ? '' : ','}${writeText(key, path)}:${write(members[key], path)}`;
  }
  path.length = last;
  return `{${text}}`;
}

function refuse(path: Path, problem: string): never {
  const pointer = pointerTo(path.map((step) => String(step).toWellFormed()));
  const place = pointer === '' ? 'The value' : `The value at ${pointer}`;
  throw new AtmoError('VALIDATION_ERROR', `${place} ${problem}`, { pointer });
}
