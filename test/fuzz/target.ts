import { isDeepStrictEqual } from 'node:util';
import { AtmoError } from '../../src/core/errors.ts';
import { type Json, tryParseJson } from '../../src/core/json.ts';

/** A parser of what others sent, and what it knows of its format. */
export interface Target {
  readonly name: string;
  /** The module with the parser, below src. */
  readonly source: string;
  readonly form: InputForm;
  /** Reads an input. It may return anything, and may refuse with an AtmoError; any other error is a finding. */
  run(input: Uint8Array): unknown;
  readonly seeds: readonly Uint8Array[];
  /** Words of the format. The texts in the code of `source` are added to them. */
  readonly words: readonly string[];
  /** Largest input in bytes; default 16 KiB. */
  readonly maxBytes: number;
}

/** How inputs are changed: bit by bit, word by word, or member by member. */
export type InputForm = 'bytes' | 'text' | 'json';

/** What may be left out of a target. */
interface Options {
  readonly words?: readonly string[];
  readonly maxBytes?: number;
}

const MAX_BYTES = 16_384;

/** Returns the target of a parser of bytes. */
export function bytesTarget(
  name: string,
  source: string,
  { run, seeds, words = [], maxBytes = MAX_BYTES }: Options & Pick<Target, 'run' | 'seeds'>,
): Target {
  return { name, source, form: 'bytes', run, seeds, words, maxBytes };
}

/** Returns the target of a parser of text. Bytes that are not UTF-8 arrive as U+FFFD, as they do in the program. */
export function textTarget(
  name: string,
  source: string,
  { run, seeds, words = [], maxBytes = MAX_BYTES }: Options & { run(text: string): unknown; readonly seeds: readonly string[] },
): Target {
  const onBytes = (input: Uint8Array) => run(Buffer.from(input).toString('utf8'));
  return { name, source, form: 'text', run: onBytes, seeds: seeds.map((seed) => Buffer.from(seed)), words, maxBytes };
}

/** Returns the target of what takes values that came as JSON. Inputs that are not JSON do not reach it. */
export function jsonTarget(
  name: string,
  source: string,
  { run, seeds, words = [], maxBytes = MAX_BYTES }: Options & { run(value: Json): unknown; readonly seeds: readonly unknown[] },
): Target {
  const onBytes = (input: Uint8Array) => {
    const value = tryParseJson(Buffer.from(input).toString('utf8'));
    return value === undefined ? undefined : run(value);
  };
  return { name, source, form: 'json', run: onBytes, seeds: seeds.map((seed) => Buffer.from(JSON.stringify(seed))), words, maxBytes };
}

/** A parser broke its promise. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';
}

/** Throws BrokenPromise unless two values are equal. `promise` says what should have held. */
export function requireSame(one: unknown, other: unknown, promise: string): void {
  if (!isDeepStrictEqual(one, other)) throw new BrokenPromise(promise);
}

/** Returns the value of `work`, or undefined if it refuses with an AtmoError that is no bug of the hub. */
export function unlessRefused<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Returns whether an error is the refusal of an input, and no bug. */
export function isRefusal(error: unknown): boolean {
  return error instanceof AtmoError && error.code !== 'INTERNAL_ERROR';
}
