import { AtmoError } from '../../core/errors.ts';
import { reachOf } from './command-reach.ts';
import { couldBe, isForbidden, isTouched, pathsOf, readPattern, type SafetyPattern } from './safety-pattern.ts';

/** Something that no command may do, whoever asks (source 004, SafetyRule). */
export interface SafetyRule {
  readonly name: string;
  readonly forbiddenPatterns: readonly string[];
}

/** What every hub forbids as long as its owner does not say otherwise. */
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

/** Told where a command cannot be known before it runs. */
const UNREADABLE = 'nothing that computes its command';
const COMPUTED =
  'The safety rules cannot know before it runs what this command does, and so refuse it. Write the command out, with -- before arguments that are computed, or run a script file that the owner has read';
const MAX_WORDS = 2_000;

/** The rules, ready to be asked. */
export class SafetyRules {
  readonly #rules: readonly { readonly name: string; readonly patterns: readonly SafetyPattern[] }[];

  constructor(rules: readonly SafetyRule[]) {
    this.#rules = rules.map(({ name, forbiddenPatterns }) => ({ name, patterns: forbiddenPatterns.map(readPattern) }));
  }

  /** RULE_BLOCKED with the name of the rule; `argv` begins with the program, relative paths are below `cwd`, `stdin` is what it reads. */
  require(argv: readonly string[], cwd: string, stdin?: string): void {
    if (this.#rules.length === 0) return;
    const { commands, words, isComputed, unreadable } = reachOf(argv, stdin);
    const distinct = new Map(words.map((word) => [`${word.wildcard}\n${word.text}`, word]));
    const isTooMany = distinct.size > MAX_WORDS;
    const named = (isTooMany ? [] : [...distinct.values()]).map((word) => pathsOf(word, cwd));
    const breaks = (pattern: SafetyPattern) =>
      commands.some((command) => isForbidden(pattern, command)) || named.some((paths) => isTouched(pattern, paths));
    const broken = this.#rules.find(({ patterns }) => patterns.some(breaks));
    // Rules can only be held against what is known before it runs: what computes its command could be any command.
    const patterns = this.#rules.flatMap((rule) => rule.patterns);
    const isHidden = isComputed || patterns.some((pattern) => commands.some((command) => !command.isText && couldBe(pattern, command)));
    const construct = unreadable ?? (isTooMany ? `more than ${MAX_WORDS} different words` : undefined);
    const name = broken?.name ?? (construct !== undefined || isHidden ? UNREADABLE : undefined);
    if (name === undefined) return;
    if (!broken && construct !== undefined) throw new AtmoError('RULE_BLOCKED', tellUnreadable(construct), { rule: name });
    throw new AtmoError('RULE_BLOCKED', broken ? tellBroken(name) : COMPUTED, { rule: name });
  }
}

function tellBroken(name: string): string {
  return `The safety rule ${JSON.stringify(name)} forbids this command; the owner can change connectors.sandbox.safety_rules`;
}

function tellUnreadable(construct: string): string {
  return `The safety rules cannot read this shell text, and so refuse it: it has ${construct}. Write it in another way, or run a script file that the owner has read`;
}
