import { jsonMutation } from './json-mutations.ts';
import type { InputForm } from './target.ts';

/** What the changes of an input are drawn from. */
export interface MutationSource {
  readonly form: InputForm;
  readonly words: readonly Uint8Array[];
  readonly maxBytes: number;
  /** Returns a whole number from 0 to below `bound`. */
  below(bound: number): number;
  /** Returns another input of the corpus. */
  other(): Uint8Array;
}

/** Bytes that formats often give a meaning: limits of lengths, heads of CBOR, DER and DNS, brackets, quotes, ends of lines. */
const ODD_BYTES = [
  0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0xc0, 0x0a, 0x0d, 0x20, 0x22, 0x27, 0x5c, 0x2f, 0x2e, 0x2a, 0x25, 0x5f, 0x9f, 0xbf, 0x30, 0x31,
];
const ODD_TEXTS = [
  '__proto__',
  'constructor',
  'toString',
  '\u0000',
  '\u202e',
  '\ufeff',
  '\ud800',
  '\u00df',
  '\u0130',
  '\u2028',
  '%00',
  '%',
  '\\u0000',
  '&#0;',
  '-0',
  'NaN',
  '1e999',
  '-1',
  '99999999999999999999',
  '0x10',
  '1_000',
  '\r\n',
  '\n\n',
  '\t',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  '<',
  '>',
  '"',
  "'",
  '`',
  '\\',
  '/',
  '//',
  '/*',
  '../',
  '@',
  '#',
  '&a',
  '*a',
  '<<',
  '---',
  '|',
  '>',
  '?',
  '!',
  '$',
  '${',
  '~',
  ',',
  ';',
  ':',
  '=',
  '+',
  '^',
].map((text) => Buffer.from(text));
const BRACKETS = ['[]', '{}', '()', '<>', '""', '\u0081\u0081'] as const;
const INTERESTING = [0, 1, 16, 127, 128, 255, 256, 1_023, 32_767, 32_768, 65_535, 65_536, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

type Mutation = (input: Buffer, source: MutationSource) => Uint8Array;

/** Changes an input in one to eight ways. */
export function mutated(input: Uint8Array, source: MutationSource): Uint8Array {
  const ways = source.form === 'bytes' ? BYTE_WAYS : source.form === 'text' ? TEXT_WAYS : JSON_WAYS;
  let bytes = Buffer.from(input);
  for (let times = 1 << source.below(4); times > 0; times--) {
    const way = ways[source.below(ways.length)] ?? flipBit;
    bytes = Buffer.from(way(bytes, source)).subarray(0, source.maxBytes);
  }
  return new Uint8Array(bytes);
}

const spliced = (input: Buffer, at: number, drop: number, insert: Uint8Array): Uint8Array =>
  Buffer.concat([input.subarray(0, at), insert, input.subarray(at + drop)]);

const flipBit: Mutation = (input, { below }) => withByte(input, below(input.length || 1), (byte) => byte ^ (1 << below(8)));
const anyByte: Mutation = (input, { below }) => withByte(input, below(input.length || 1), () => below(256));
const oddByte: Mutation = (input, { below }) => withByte(input, below(input.length || 1), () => ODD_BYTES[below(ODD_BYTES.length)] ?? 0);
const nextByte: Mutation = (input, { below }) => withByte(input, below(input.length || 1), (byte) => byte + below(33) - 16);

function withByte(input: Buffer, at: number, change: (byte: number) => number): Uint8Array {
  const byte = input[at];
  if (byte !== undefined) input[at] = change(byte) & 0xff;
  return input;
}

/** Writes a number of 1, 2, 4 or 8 bytes in either order, as a length or count would be. */
const number: Mutation = (input, { below }) => {
  const value = INTERESTING[below(INTERESTING.length)] ?? 0;
  const bytes = Buffer.alloc(8);
  const size = 1 << below(4);
  if (below(2) === 0) bytes.writeBigUInt64LE(BigInt(value));
  else bytes.writeBigUInt64BE((BigInt(value) << BigInt(8 * (8 - size))) & 0xffff_ffff_ffff_ffffn);
  return spliced(input, below(input.length + 1), below(2) * size, bytes.subarray(0, size));
};
const cut: Mutation = (input, { below }) => input.subarray(0, below(input.length + 1));
const drop: Mutation = (input, { below }) => spliced(input, below(input.length + 1), 1 + below(1 + below(32)), new Uint8Array());
const random: Mutation = (input, { below }) =>
  spliced(
    input,
    below(input.length + 1),
    below(2),
    Uint8Array.from({ length: 1 + below(8) }, () => below(256)),
  );
const word: Mutation = (input, { below, words }) =>
  spliced(input, below(input.length + 1), below(4), words[below(words.length || 1)] ?? new Uint8Array());
const oddText: Mutation = (input, { below }) =>
  spliced(input, below(input.length + 1), below(3), ODD_TEXTS[below(ODD_TEXTS.length)] ?? new Uint8Array());
/** Copies a part of the input to another place. */
const copy: Mutation = (input, { below }) => {
  const from = below(input.length + 1);
  return spliced(input, below(input.length + 1), below(8), input.subarray(from, from + 1 + below(40)));
};
const splice: Mutation = (input, { below, other }) => {
  const source = other();
  const from = below(source.length + 1);
  return spliced(input, below(input.length + 1), below(40), source.subarray(from, from + below(80)));
};
/** Repeats a part of the input, now and then until the input is as long as it may be: work has to grow as the input does. */
const repeat: Mutation = (input, { below, maxBytes }) => {
  const from = below(input.length + 1);
  const part = input.subarray(from, from + 1 + below(12));
  const most = below(16) === 0 ? maxBytes : 64;
  return spliced(input, from, 0, Buffer.concat(Array.from({ length: 1 + below(Math.max(1, most / (part.length || 1))) }, () => part)));
};
/** Puts a part of the input inside of many brackets. */
const nest: Mutation = (input, { below, maxBytes }) => {
  const [open = '', close = ''] = BRACKETS[below(BRACKETS.length)] ?? '';
  const times = 1 + below(below(16) === 0 ? maxBytes / 2 : 40);
  const [from, length] = [below(input.length + 1), below(20)];
  const inside = input.subarray(from, from + length);
  return spliced(
    input,
    from,
    length,
    Buffer.concat([Buffer.from(open.repeat(times), 'latin1'), inside, Buffer.from(close.repeat(times), 'latin1')]),
  );
};
/** Replaces a number in a text. */
const digits: Mutation = (input, { below }) => {
  const text = input.toString('latin1');
  const numbers = [...text.matchAll(/\d+/g)];
  const match = numbers[below(numbers.length || 1)];
  if (!match) return input;
  const value = below(3) === 0 ? String(Number(match[0]) + below(5) - 2) : String(INTERESTING[below(INTERESTING.length)]);
  return spliced(input, match.index, match[0].length, Buffer.from(value));
};
/** Swaps two words of a text. */
const swap: Mutation = (input, { below }) => {
  const parts = input.toString('latin1').split(/([\s,;:.=&/]+)/);
  const [one, other] = [below(parts.length), below(parts.length)];
  [parts[one], parts[other]] = [parts[other] ?? '', parts[one] ?? ''];
  return Buffer.from(parts.join(''), 'latin1');
};

const ANY_WAYS: readonly Mutation[] = [flipBit, anyByte, oddByte, nextByte, cut, drop, drop, random, copy, splice, splice, repeat, nest];
const BYTE_WAYS: readonly Mutation[] = [...ANY_WAYS, number, number, number, word, flipBit, oddByte];
const TEXT_WAYS: readonly Mutation[] = [...ANY_WAYS, word, word, word, oddText, oddText, oddText, digits, digits, swap, copy];
const JSON_WAYS: readonly Mutation[] = [jsonMutation, jsonMutation, jsonMutation, jsonMutation, jsonMutation, jsonMutation, word, oddText];
