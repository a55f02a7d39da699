import { realpathSync } from 'node:fs';
import { basename, isAbsolute, normalize, resolve } from 'node:path';

/** One thing that a command must not be or touch. */
export type SafetyPattern =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'segment'; readonly name: RegExp }
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
  if (words.length === 0 && program.endsWith('/')) return { kind: 'segment', name: nameLike(program.slice(0, -1)) };
  return { kind: 'program', program: nameLike(program), words };
}

/** Whether one command, `argv`, is or touches what the pattern says. */
export function isForbidden(pattern: SafetyPattern, argv: readonly string[], cwd: string): boolean {
  const [program = '', ...args] = argv;
  if (pattern.kind === 'program') {
    return pattern.program.test(basename(program)) && pattern.words.every((word) => holdsWord(args, word));
  }
  return argv.flatMap((arg) => pathsIn(arg, cwd)).some((path) => isPathForbidden(pattern, path));
}

function isPathForbidden(pattern: Exclude<SafetyPattern, { readonly kind: 'program' }>, path: string): boolean {
  if (pattern.kind === 'segment') return path.split('/').some((segment) => pattern.name.test(segment));
  return path === pattern.path || path.startsWith(`${pattern.path}/`);
}

/** `-r` is in `-fr`, `-r -f` and `--recursive`, also when it is cut to `--rec`; after `--` there are no options. */
function holdsWord(args: readonly string[], word: string): boolean {
  if (!word.startsWith('-')) return args.includes(word);
  const end = args.indexOf('--');
  const options = (end === -1 ? args : args.slice(0, end)).filter((arg) => /^-./.test(arg));
  if (word.startsWith('--')) return options.some((option) => isLong(option, word.slice(2)));
  return [...word.slice(1)].every((letter) => options.some((option) => hasLetter(option, letter)));
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

/** What an argument may name on the disk: itself, what stands after `=`, with and without the links on its way. */
function pathsIn(arg: string, cwd: string): readonly string[] {
  const texts = [arg, arg.slice(arg.indexOf('=') + 1), arg.replace(/^-\w/, '')].filter((text) => text !== '' && !text.includes('\0'));
  return [...new Set(texts)].flatMap((text) => {
    const path = resolve(cwd, text.replace(/^~(?=\/|$)/, '/root'));
    return [path, ...realPath(path)];
  });
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
