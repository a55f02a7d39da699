import { AtmoError } from '../../core/errors.ts';

/** A value with its own D-Bus signature. */
export interface DbusVariant {
  readonly signature: string;
  readonly value: DbusValue;
}

/**
 * A D-Bus value: 64-bit integers are bigint, `ay` is Uint8Array, `a{..}` is a Map, other arrays and structs are arrays,
 * strings, object paths and signatures are text.
 */
export type DbusValue =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | readonly DbusValue[]
  | ReadonlyMap<DbusValue, DbusValue>
  | DbusVariant;

/** Deepest nesting of containers (the specification allows 64). */
export const MAX_DEPTH = 32;
const ALIGNMENTS: Readonly<Record<string, number>> = { y: 1, g: 1, v: 1, n: 2, q: 2, x: 8, t: 8, d: 8, '(': 8, '{': 8 };

/** The complete types of a signature, in order (D-Bus specification, "Type System"). */
export function splitSignature(signature: string): readonly string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length; ) {
    const end = endOfType(signature, at, 0);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, at: number, depth: number): number {
  const code = signature[at];
  if (code === undefined || depth > MAX_DEPTH) throw brokenMessage('a signature is cut off or too deep');
  if (code === 'a') return endOfType(signature, at + 1, depth + 1);
  if (code !== '(' && code !== '{') return at + 1;
  const close = code === '(' ? ')' : '}';
  let end = at + 1;
  while (signature[end] !== close) end = endOfType(signature, end, depth + 1);
  return end + 1;
}

/** Bytes that a value of this type is aligned to; for numbers also their size. */
export function alignmentOf(type: string): number {
  return ALIGNMENTS[type[0] ?? ''] ?? 4;
}

/** The types within a struct or dictionary entry. */
export function membersOf(type: string): readonly string[] {
  return splitSignature(type.slice(1, -1));
}

/** RESULT_INVALID for what cannot be read or written. */
export function brokenMessage(what: string): AtmoError {
  return new AtmoError('RESULT_INVALID', `A D-Bus message cannot be read or written: ${what}`);
}
