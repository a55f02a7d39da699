import { realpathSync } from 'node:fs';
import { basename, isAbsolute, normalize, resolve } from 'node:path';
import type { ShellCommand, ShellWord } from './shell-words.ts';

/** One thing that a command must not be or touch. */
export type SafetyPattern =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'segment'; readonly name: RegExp; readonly text: string }
  | { readonly kind: 'program'; readonly program: RegExp; readonly words: readonly string[] };

/** Options that are the same thing, as the programs of GNU name them. */
const LONG: Readonly<Record<string, readonly string[]>> = { r: ['recursive'], R: ['recursive'], f: ['force'] };
const REGEXP_SIGNS = /[.*+?^${}()|[\]\\]/g;

/**
 * Reads a pattern: `/etc/shadow` is that path and all below it, `.ssh/` a folder of the name anywhere, anything else a program by
 * name with options and arguments that have to be there: `rm -r`, `git push`. `*` stands for any end of a name.
 */
export function readPattern(text: string): SafetyPattern {
  const [program = '', ...words] = text.trim().split(/\s+/);
  if (words.length === 0 && isAbsolute(program)) return { kind: 'path', path: normalize(program).replace(/(.)\/$/, '$1') };
  if (words.length === 0 && program.endsWith('/')) {
    return { kind: 'segment', name: nameLike(program.slice(0, -1)), text: program.slice(0, -1).replaceAll('*', '') };
  }
  return { kind: 'program', program: nameLike(program), words };
}

/** Whether one command is what the pattern says. */
export function isForbidden(pattern: SafetyPattern, { words }: ShellCommand): boolean {
  if (pattern.kind !== 'program' || !isProgram(pattern, words[0])) return false;
  const args = words.slice(1);
  return pattern.words.every((word) => holdsWord(args, word));
}

/** Whether it is a program of the pattern that gets words which the shell computes: they could be those of the pattern. */
export function couldBe(pattern: SafetyPattern, { words }: ShellCommand): boolean {
  if (pattern.kind !== 'program' || pattern.words.length === 0 || !isProgram(pattern, words[0])) return false;
  const args = words.slice(1);
  const isByOptions = pattern.words.every((word) => word.startsWith('-'));
  return (isByOptions ? optionsAmong(args) : args).some(
    ({ text, isComputed, wildcard }) => isComputed || (wildcard && text.startsWith('-')),
  );
}

function isProgram({ program }: Extract<SafetyPattern, { readonly kind: 'program' }>, word: ShellWord | undefined): boolean {
  return word !== undefined && program.test(basename(word.text));
}

/** The signs of a name with wildcards: brackets and a sign behind a backslash are one. */
type Wildcard = readonly string[];

/** What a word may name on the disk; relative paths are below `cwd`. */
export interface NamedPaths {
  readonly paths: readonly string[];
  /** With wildcards, in segments. */
  readonly wildcards: readonly (readonly Wildcard[])[];
}

/** What a word names, with and without the links on its way. */
export function pathsOf({ text, wildcard }: ShellWord, cwd: string): NamedPaths {
  if (wildcard !== undefined) return { paths: [], wildcards: pathTexts(wildcard).map((one) => resolve(cwd, one).split('/').map(signsOf)) };
  const paths = pathTexts(text).flatMap((one) => {
    const path = resolve(cwd, one);
    return [path, ...realPath(path)];
  });
  return { paths, wildcards: [] };
}

/** Whether a word names what the pattern says. */
export function isTouched(pattern: SafetyPattern, { paths, wildcards }: NamedPaths): boolean {
  if (pattern.kind === 'program') return false;
  return paths.some((path) => isPathForbidden(pattern, path)) || wildcards.some((segments) => isPathLikely(pattern, segments));
}

function isPathForbidden(pattern: Exclude<SafetyPattern, { readonly kind: 'program' }>, path: string): boolean {
  if (pattern.kind === 'segment') return path.split('/').some((segment) => pattern.name.test(segment));
  return path === pattern.path || path.startsWith(`${pattern.path}/`);
}

/** For a path with wildcards. A name with hardly a letter (`*`, `.*`, `[a-z]*`) is any name: it is held against the paths of rules alone. */
function isPathLikely(pattern: Exclude<SafetyPattern, { readonly kind: 'program' }>, segments: readonly Wildcard[]): boolean {
  if (pattern.kind === 'segment') return segments.some((segment) => isTelling(segment) && wildcardFits(segment, pattern.text));
  const forbidden = pattern.path.split('/');
  return segments.length >= forbidden.length && forbidden.every((name, index) => wildcardFits(segments[index] ?? [], name));
}

/** Whether a name says two signs at least; brackets around a sign or two are as good as one. */
function isTelling(wildcard: Wildcard): boolean {
  return wildcard.filter((sign) => !/^(?:[*?]|\[[!^]|\[..[^\]])/s.test(sign)).length >= 2;
}

/** Whether a name of the disk fits wildcards of the shell (POSIX, 2.13); those at the beginning fit no leading dot. */
function wildcardFits(wildcard: Wildcard, name: string): boolean {
  if (name.startsWith('.') && /^[*?[]/.test(wildcard[0] ?? '')) return false;
  // Which places of the name are reached, sign by sign: the time is bounded by both lengths, as that of an expression is not.
  let reached = new Set([0]);
  for (const sign of wildcard) {
    const next = new Set<number>();
    for (const at of reached) {
      if (sign === '*') for (let to = at; to <= name.length; to++) next.add(to);
      else if (at < name.length && fitsOne(sign, name[at] ?? '')) next.add(at + 1);
    }
    reached = next;
  }
  return reached.has(name.length);
}

function signsOf(wildcard: string): Wildcard {
  const signs: string[] = [];
  const last = wildcard.lastIndexOf(']');
  for (let at = 0; at < wildcard.length; at += signs.at(-1)?.length ?? 1) {
    const isEscaped = wildcard[at] === '\\';
    // The first sign inside is none that closes.
    const first = at + (/[!^]/.test(wildcard[at + 1] ?? '') ? 3 : 2);
    const end = wildcard[at] === '[' && first <= last ? wildcard.indexOf(']', first) : at + (isEscaped ? 1 : 0);
    signs.push(wildcard.slice(at, end + 1));
  }
  return signs;
}

/** Brackets may hold classes and ranges of a language: any sign fits, which is the safe side. */
function fitsOne(sign: string, letter: string): boolean {
  return sign === '?' || (sign.startsWith('[') && sign.length > 1) || sign.replace(/^\\(.)$/s, '$1') === letter;
}

/** `-r` is in `-fr`, `-r -f` and `--recursive`, also when it is cut to `--rec`; after `--` there are no options. */
function holdsWord(args: readonly ShellWord[], word: string): boolean {
  if (!word.startsWith('-')) return args.some(({ text, wildcard }) => text === word || (wildcard && isPathLikelyWord(wildcard, word)));
  const options = optionsAmong(args).flatMap(({ text }) => (/^-./.test(text) ? [text] : []));
  if (word.startsWith('--')) return options.some((option) => isLong(option, word.slice(2)));
  return [...word.slice(1)].every((letter) => options.some((option) => hasLetter(option, letter)));
}

function isPathLikelyWord(wildcard: string, word: string): boolean {
  return !/^\**$/.test(wildcard) && wildcardFits(signsOf(wildcard), word);
}

function optionsAmong(args: readonly ShellWord[]): readonly ShellWord[] {
  const end = args.findIndex(({ text }) => text === '--');
  return end === -1 ? args : args.slice(0, end);
}

function hasLetter(option: string, letter: string): boolean {
  if (!option.startsWith('--')) return option.includes(letter);
  return (LONG[letter] ?? []).some((name) => isLong(option, name));
}

/** Programs of GNU take as few letters as are not those of another option too: `rm --r` is `rm --recursive`. */
function isLong(option: string, name: string): boolean {
  if (!option.startsWith('--')) return false;
  const given = option.slice(2).split('=', 1)[0] ?? '';
  return given !== '' && name.startsWith(given);
}

/** An argument itself, what stands after `=`, and what is glued to an option. */
function pathTexts(arg: string): readonly string[] {
  const texts = [arg, arg.slice(arg.indexOf('=') + 1), arg.replace(/^-\w/, '')].filter((text) => text !== '' && !text.includes('\0'));
  return [...new Set(texts)].map((text) => text.replace(/^~(?=\/|$)/, '/root'));
}

function realPath(path: string): readonly string[] {
  try {
    return [realpathSync(path)];
  } catch {
    return [];
  }
}

function nameLike(text: string): RegExp {
  return new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replaceAll(REGEXP_SIGNS, '\\$&'))
      .join('.*')}$`,
  );
}
