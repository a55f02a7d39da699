import { basename } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { isForbidden, readPattern, type SafetyPattern } from './safety-pattern.ts';

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

/** Programs that run what stands in their arguments. */
const RUNNERS = /^(env|nice|ionice|nohup|setsid|stdbuf|time|timeout|xargs|busybox|chrt|taskset|prlimit|flock|find|watch|script)$/;
const SHELLS = /^(sh|bash|dash|ash|zsh|ksh|fish)$/;
/** What separates commands and words for a shell. */
const SEPARATORS = /[;&|\n(){}`]|\$\(/;
/** What a shell may have in front of a command: its own words, and variables of the command. */
const IN_FRONT = /^(eval|exec|command|builtin|if|then|else|elif|do|while|until|!|[A-Za-z_]\w*=.*)$/;

/** The rules, ready to be asked. */
export class SafetyRules {
  readonly #rules: readonly { readonly name: string; readonly patterns: readonly SafetyPattern[] }[];

  constructor(rules: readonly SafetyRule[]) {
    this.#rules = rules.map(({ name, forbiddenPatterns }) => ({ name, patterns: forbiddenPatterns.map(readPattern) }));
  }

  /** RULE_BLOCKED with the name of the rule; `argv` begins with the program, relative paths are below `cwd`. */
  require(argv: readonly string[], cwd: string): void {
    const commands = commandsIn(argv);
    const broken = this.#rules.find(({ patterns }) =>
      patterns.some((pattern) => commands.some((command) => isForbidden(pattern, command, cwd))),
    );
    if (!broken) return;
    const told = `The safety rule ${JSON.stringify(broken.name)} forbids this command; the owner can change connectors.sandbox.safety_rules`;
    throw new AtmoError('RULE_BLOCKED', told, { rule: broken.name });
  }
}

/** A command, and those that it would run: behind `env`, `xargs` and the like, and in the text of a shell. */
function commandsIn(argv: readonly string[]): readonly (readonly string[])[] {
  const program = basename(argv[0] ?? '');
  const inner = argv.slice(1);
  if (SHELLS.test(program)) return [argv, ...inner.flatMap(commandsOfText)];
  if (!RUNNERS.test(program)) return [argv];
  // `env -S`, `watch` and `script -c` take a whole command line as one argument.
  const lines = inner.filter((arg) => /\s/.test(arg)).map((arg) => arg.replace(/^--[a-z-]+=/, ''));
  return [argv, ...inner.flatMap((_, index) => commandsBehind(inner.slice(index))), ...lines.flatMap(commandsOfText)];
}

/** The commands in the text of a shell. */
function commandsOfText(text: string): readonly (readonly string[])[] {
  const commands = text.split(SEPARATORS).map((part) => afterFront(wordsOf(part)));
  return commands.filter((words) => words.length > 0).flatMap(commandsBehind);
}

function afterFront(words: readonly string[]): readonly string[] {
  const first = words.findIndex((word) => !IN_FRONT.test(word));
  return first === -1 ? [] : words.slice(first);
}

/** A runner runs no deeper than once more: whoever hides better is in a sandbox with nothing to harm. */
function commandsBehind(argv: readonly string[]): readonly (readonly string[])[] {
  const inner = argv.slice(1);
  if (!RUNNERS.test(basename(argv[0] ?? ''))) return [argv];
  return [argv, ...inner.map((_, index) => inner.slice(index))];
}

function wordsOf(text: string): readonly string[] {
  return text
    .replaceAll(/['"\\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '');
}
