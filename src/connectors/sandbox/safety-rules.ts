import { realpathSync } from 'node:fs';
import { basename, isAbsolute, normalize, resolve } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { analyzeCommand } from './command-analysis.ts';
import type { SandboxConfig } from './sandbox-config.ts';
import type { ShellCommand, ShellWord } from './shell-words.ts';

type SafetyRule = SandboxConfig['safetyRules'][number];

/** The safety rules that apply unless the owner turns them off. */
export const DEFAULT_SAFETY_RULES: readonly SafetyRule[] = [
  {
    name: 'nothing destructive',
    forbiddenPatterns: ['rm -r', 'rm -R', 'dd', 'mkfs*', 'mke2fs', 'mkswap', 'shred', 'wipefs', '*fdisk', 'parted', 'find -delete'],
  },
  {
    name: 'nothing that stops the machine',
    forbiddenPatterns: [
      'shutdown',
      'reboot',
      'poweroff',
      'halt',
      'init',
      'telinit',
      'systemctl reboot',
      'systemctl poweroff',
      'systemctl halt',
    ],
  },
  {
    name: 'nobody else and nowhere else',
    forbiddenPatterns: ['sudo', 'su', 'doas', 'pkexec', 'runuser', 'chroot', 'nsenter', 'unshare', 'mount', 'umount', 'bwrap'],
  },
  {
    name: 'no secrets of the system',
    forbiddenPatterns: [
      '/etc/passwd',
      '/etc/shadow',
      '/etc/gshadow',
      '/etc/sudoers',
      '/etc/sudoers.d',
      '/etc/ssh',
      '.ssh/',
      '.gnupg/',
      'id_rsa*/',
      'id_ed25519*/',
      'id_ecdsa*/',
    ],
  },
];

/** Name of the rule against commands that cannot be checked, because they are unreadable or known only at run time. */
const UNREADABLE = 'nothing that computes its command';
const COMPUTED =
  'The safety rules cannot know before it runs what this command does, and so refuse it. Write the command out, with -- before arguments that are computed, or run a script file that the owner has read';
const MAX_WORDS = 2_000;

/** Checks commands against the safety rules before they run. */
export class SafetyRules {
  readonly #rules: readonly { readonly name: string; readonly patterns: readonly SafetyPattern[] }[];

  constructor(rules: readonly SafetyRule[]) {
    this.#rules = rules.map(({ name, forbiddenPatterns }) => ({ name, patterns: forbiddenPatterns.map(parsePattern) }));
  }

  /** Throws RULE_BLOCKED if a command breaks a rule or cannot be checked. `argv[0]` is the program; relative paths start at `cwd`. */
  requireSafe(argv: readonly string[], cwd: string, stdin?: string): void {
    if (this.#rules.length === 0) return;
    const { commands, words, isComputed, unreadable } = analyzeCommand(argv, stdin);
    const distinct = new Map(words.map((word) => [`${word.wildcard}\n${word.text}`, word]));
    const isTooMany = distinct.size > MAX_WORDS;
    const named = (isTooMany ? [] : [...distinct.values()]).map((word) => pathsOf(word, cwd));
    const breaks = (pattern: SafetyPattern) =>
      commands.some((command) => matchesCommand(pattern, command)) || named.some((paths) => matchesPaths(pattern, paths));
    const broken = this.#rules.find(({ patterns }) => patterns.some(breaks));
    if (broken) {
      const rule = broken.name;
      const message = `The safety rule ${JSON.stringify(rule)} forbids this command; the owner can change connectors.sandbox.safety_rules`;
      throw new AtmoError('RULE_BLOCKED', message, { rule });
    }
    const construct = unreadable ?? (isTooMany ? `more than ${MAX_WORDS} different words` : undefined);
    if (construct !== undefined) {
      const message = `The safety rules cannot read this shell text, and so refuse it: it has ${construct}. Write it in another way, or run a script file that the owner has read`;
      throw new AtmoError('RULE_BLOCKED', message, { rule: UNREADABLE });
    }
    // A computed command is refused: it could be any command, and the rules can judge only what is known before the run.
    const patterns = this.#rules.flatMap((rule) => rule.patterns);
    const isHidden =
      isComputed || patterns.some((pattern) => commands.some((command) => !command.isText && mayMatchCommand(pattern, command)));
    if (isHidden) throw new AtmoError('RULE_BLOCKED', COMPUTED, { rule: UNREADABLE });
  }
}

/** What a rule forbids: a path, a name in a path, or a program with certain arguments. */
type SafetyPattern =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'segment'; readonly name: RegExp; readonly text: string }
  | { readonly kind: 'program'; readonly program: RegExp; readonly words: readonly string[] };

/** Long options of GNU programs, by the letter of the short option with the same meaning. */
const LONG_OPTIONS: Readonly<Record<string, readonly string[]>> = { r: ['recursive'], R: ['recursive'], f: ['force'] };
const REGEXP_CHARACTERS = /[.*+?^${}()|[\]\\]/g;

/**
 * Parses a pattern. `/etc/shadow` means this path and all paths below it. `.ssh/` means all paths in which a file or folder has this name.
 * Any other text, such as `rm -r`, means a program with these options and arguments. In a program's name, and in a name such as `.ssh`,
 * `*` matches any characters.
 */
function parsePattern(text: string): SafetyPattern {
  const [program = '', ...words] = text.trim().split(/\s+/);
  if (words.length === 0 && isAbsolute(program)) return { kind: 'path', path: normalize(program).replace(/(.)\/$/, '$1') };
  if (words.length === 0 && program.endsWith('/')) {
    return { kind: 'segment', name: globToRegExp(program.slice(0, -1)), text: program.slice(0, -1).replaceAll('*', '') };
  }
  return { kind: 'program', program: globToRegExp(program), words };
}

function matchesCommand(pattern: SafetyPattern, { words }: ShellCommand): boolean {
  if (pattern.kind !== 'program' || !isProgram(pattern, words[0])) return false;
  const args = words.slice(1);
  return pattern.words.every((word) => hasArgument(args, word));
}

/** Returns whether a command may match the pattern once the shell has replaced variables, substitutions and wildcards. */
function mayMatchCommand(pattern: SafetyPattern, { words }: ShellCommand): boolean {
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

/** The tokens of a name with wildcards. A token is a bracket expression, a backslash with the next character, or a single character. */
type GlobTokens = readonly string[];

interface NamedPaths {
  readonly paths: readonly string[];
  /** Paths with wildcards, split into segments. */
  readonly wildcards: readonly (readonly GlobTokens[])[];
}

/** Returns the paths that a word may name, both as written and with links resolved. Relative paths start at `cwd`. */
function pathsOf({ text, wildcard }: ShellWord, cwd: string): NamedPaths {
  if (wildcard !== undefined)
    return { paths: [], wildcards: pathTexts(wildcard).map((one) => resolve(cwd, one).split('/').map(globTokens)) };
  const paths = pathTexts(text).flatMap((one) => {
    const path = resolve(cwd, one);
    return [path, ...realPath(path)];
  });
  return { paths, wildcards: [] };
}

function matchesPaths(pattern: SafetyPattern, { paths, wildcards }: NamedPaths): boolean {
  if (pattern.kind === 'program') return false;
  return paths.some((path) => matchesPath(pattern, path)) || wildcards.some((segments) => mayMatchPath(pattern, segments));
}

function matchesPath(pattern: Exclude<SafetyPattern, { readonly kind: 'program' }>, path: string): boolean {
  if (pattern.kind === 'segment') return path.split('/').some((segment) => pattern.name.test(segment));
  return path === pattern.path || path.startsWith(`${pattern.path}/`);
}

/**
 * Returns whether a path with wildcards may match the pattern. A name with too few fixed characters, such as `*` or `[a-z]*`, could be any
 * name: it counts only for patterns that are whole paths.
 */
function mayMatchPath(pattern: Exclude<SafetyPattern, { readonly kind: 'program' }>, segments: readonly GlobTokens[]): boolean {
  if (pattern.kind === 'segment') return segments.some((segment) => isSpecific(segment) && globMatches(segment, pattern.text));
  const forbidden = pattern.path.split('/');
  return segments.length >= forbidden.length && forbidden.every((name, index) => globMatches(segments[index] ?? [], name));
}

/** Returns true if a name has at least two fixed characters. Brackets around one or two characters count as one fixed character. */
function isSpecific(wildcard: GlobTokens): boolean {
  return wildcard.filter((sign) => !/^(?:[*?]|\[[!^]|\[..[^\]])/s.test(sign)).length >= 2;
}

/** Returns whether a name matches shell wildcards (POSIX, 2.13). A wildcard at the beginning does not match a leading dot. */
function globMatches(wildcard: GlobTokens, name: string): boolean {
  if (name.startsWith('.') && /^[*?[]/.test(wildcard[0] ?? '')) return false;
  // The positions in `name` that the tokens up to now can reach. A regular expression could need much more time.
  let reached = new Set([0]);
  for (const sign of wildcard) {
    const next = new Set<number>();
    for (const at of reached) {
      if (sign === '*') for (let to = at; to <= name.length; to++) next.add(to);
      else if (at < name.length && tokenMatches(sign, name[at] ?? '')) next.add(at + 1);
    }
    reached = next;
  }
  return reached.has(name.length);
}

function globTokens(wildcard: string): GlobTokens {
  const signs: string[] = [];
  const last = wildcard.lastIndexOf(']');
  for (let at = 0; at < wildcard.length; at += signs.at(-1)?.length ?? 1) {
    const isEscaped = wildcard[at] === '\\';
    // Inside brackets, a `]` as the first character does not close them.
    const first = at + (/[!^]/.test(wildcard[at + 1] ?? '') ? 3 : 2);
    const end = wildcard[at] === '[' && first <= last ? wildcard.indexOf(']', first) : at + (isEscaped ? 1 : 0);
    signs.push(wildcard.slice(at, end + 1));
  }
  return signs;
}

/** Returns whether a token matches a character. Brackets match every character, since their meaning may depend on the locale. */
function tokenMatches(sign: string, letter: string): boolean {
  return sign === '?' || (sign.startsWith('[') && sign.length > 1) || sign.replace(/^\\(.)$/s, '$1') === letter;
}

/** Returns whether `word` is among the arguments. The option `-r` is also found in `-fr` and in `--recursive`, but not after `--`. */
function hasArgument(args: readonly ShellWord[], word: string): boolean {
  if (!word.startsWith('-')) return args.some(({ text, wildcard }) => text === word || (wildcard && mayMatchArgument(wildcard, word)));
  const options = optionsAmong(args).flatMap(({ text }) => (/^-./.test(text) ? [text] : []));
  if (word.startsWith('--')) return options.some((option) => isLongOption(option, word.slice(2)));
  return [...word.slice(1)].every((letter) => options.some((option) => hasLetter(option, letter)));
}

function mayMatchArgument(wildcard: string, word: string): boolean {
  return !/^\**$/.test(wildcard) && globMatches(globTokens(wildcard), word);
}

function optionsAmong(args: readonly ShellWord[]): readonly ShellWord[] {
  const end = args.findIndex(({ text }) => text === '--');
  return end === -1 ? args : args.slice(0, end);
}

function hasLetter(option: string, letter: string): boolean {
  if (!option.startsWith('--')) return option.includes(letter);
  return (LONG_OPTIONS[letter] ?? []).some((name) => isLongOption(option, name));
}

/** Returns whether `option` is the GNU long option `name` or an abbreviation of it, such as `--r` for `--recursive`. */
function isLongOption(option: string, name: string): boolean {
  if (!option.startsWith('--')) return false;
  const given = option.slice(2).split('=', 1)[0] ?? '';
  return given !== '' && name.startsWith(given);
}

/** Returns the parts of an argument that may be paths: the argument itself, the text after `=`, and the text after an option letter. */
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

function globToRegExp(text: string): RegExp {
  return new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replaceAll(REGEXP_CHARACTERS, '\\$&'))
      .join('.*')}$`,
  );
}
