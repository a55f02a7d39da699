import { type Json, tryParseJson } from '../../src/core/json.ts';
import type { MutationSource } from './mutations.ts';

/** Values that few programs expect. */
const ODD_VALUES: readonly Json[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1,
  0.5,
  1e308,
  1e-308,
  2 ** 31,
  2 ** 53,
  '',
  ' ',
  'x',
  '*',
  '**',
  '..',
  '/',
  '\u0000',
  '\ud800',
  '\u202e',
  '\ufeff',
  '__proto__',
  'constructor',
  '^(a+)+$',
  'a'.repeat(300),
  '2026-02-30T25:61:00Z',
  '25:00',
  '1e3',
  '{x}',
  [],
  {},
  [[]],
  [null],
  { '': '' },
  JSON.parse('{"__proto__":{"a":1}}') as Json,
  { $ref: '#' },
  { type: 'object' },
];

type Path = readonly (string | number)[];

/** Changes one member of a JSON value: another value, another name, left out, twice, nested, or one of another input. */
export function jsonMutation(input: Buffer, source: MutationSource): Uint8Array {
  const value = tryParseJson(input.toString('utf8'));
  if (value === undefined) return source.other();
  const { below } = source;
  const paths = pathsOf(value, []).slice(0, 2_000);
  const path = paths[below(paths.length)] ?? [];
  return Buffer.from(JSON.stringify(changed(value, path, (member) => newValue(member, source))) ?? 'null');
}

/** Leaves the member out. */
const GONE = Symbol('gone');

function newValue(member: Json, { below, words, other }: MutationSource): Json | typeof GONE {
  const way = below(12);
  if (way === 0) return GONE;
  if (way <= 3) return ODD_VALUES[below(ODD_VALUES.length)] ?? null;
  if (way === 4) return Array.isArray(member) ? [...member, ...member] : [member];
  if (way === 5) return { ...(isObject(member) ? member : {}), [wordOf(words, below)]: ODD_VALUES[below(ODD_VALUES.length)] ?? null };
  if (way === 6) return nested(member, 1 + below(below(8) === 0 ? 3_000 : 40), below);
  if (way === 7) return tryParseJson(Buffer.from(other()).toString('utf8')) ?? null;
  if (way === 8) return wordOf(words, below);
  if (way === 9)
    return typeof member === 'number' ? member + below(5) - 2 : typeof member === 'string' ? textChange(member, below) : member;
  if (way === 10) return isObject(member) ? Object.fromEntries(Object.entries(member).reverse()) : below(2 ** 31) - 2 ** 30;
  return typeof member === 'string'
    ? `${member}${wordOf(words, below)}`
    : partOf(tryParseJson(Buffer.from(other()).toString('utf8')) ?? null, below);
}

function textChange(text: string, below: MutationSource['below']): string {
  const at = below(text.length + 1);
  const odd = ODD_VALUES[below(ODD_VALUES.length)];
  return text.slice(0, at) + (typeof odd === 'string' ? odd : '') + text.slice(at + below(3));
}

const wordOf = (words: readonly Uint8Array[], below: MutationSource['below']): string =>
  Buffer.from(words[below(words.length || 1)] ?? new Uint8Array()).toString('utf8');

const isObject = (value: Json | undefined): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function nested(value: Json, times: number, below: MutationSource['below']): Json {
  const name = below(2) === 0 ? undefined : 'a';
  let outer = value;
  for (let level = 0; level < times; level++) outer = name === undefined ? [outer] : { [name]: outer };
  return outer;
}

function partOf(value: Json, below: MutationSource['below']): Json {
  const paths = pathsOf(value, []);
  return (paths[below(paths.length)] ?? []).reduce<Json>((part, key) => (part as Record<string | number, Json>)[key] ?? null, value);
}

/** Deeper members stay as they are, since these functions call themselves. */
const MAX_DEPTH = 30;

function pathsOf(value: Json, path: Path): readonly Path[] {
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return [path];
  const keys = Array.isArray(value) ? value.keys().toArray() : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsOf((value as Record<string | number, Json>)[key] ?? null, [...path, key]))];
}

function changed(value: Json, [key, ...rest]: Path, change: (member: Json) => Json | typeof GONE): Json {
  if (key === undefined) {
    const member = change(value);
    return member === GONE ? null : member;
  }
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => (index === key ? without(item, rest, change) : [item]));
  const entries = Object.entries(value as Record<string, Json>);
  return Object.fromEntries(
    entries.flatMap(([name, item]) => (name === key ? without(item, rest, change).map((one) => [name, one]) : [[name, item]])),
  );
}

function without(item: Json, rest: Path, change: (member: Json) => Json | typeof GONE): readonly Json[] {
  if (rest.length > 0) return [changed(item, rest, change)];
  const member = change(item);
  return member === GONE ? [] : [member];
}
