import { basename } from 'node:path';
import { countKeywords, readShell, type ShellCommand, type ShellWord } from './shell-text.ts';

/** A command with all that it would run in turn, as far as that is known before it runs. */
export interface CommandReach {
  /** Also what would be one if the words in front of it were options. */
  readonly commands: readonly ShellCommand[];
  /** Of all commands, with the files that they read and write. */
  readonly words: readonly ShellWord[];
  /** A program or the text of a shell is only known as it runs: it could be anything. */
  readonly isUnreadable: boolean;
}

const SHELLS = /^(sh|bash|dash|ash|zsh|ksh|fish)$/;
/** Programs that run what they read. */
const INTERPRETERS = /^(sh|bash|dash|ash|zsh|ksh|fish|python[\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua[\d.]*|tclsh|osascript|pwsh)$/;
/** Programs and words of a shell that run what stands in their arguments. */
const RUNNERS =
  /^(env|nice|ionice|nohup|setsid|stdbuf|time|timeout|xargs|busybox|chrt|taskset|prlimit|flock|find|watch|script|exec|command|builtin|function)$/;
/** Options in front of what is run, for the runners that need one. */
const RUN_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['find', /^-(exec|ok)(dir)?$/],
  ['script', /^$/],
]);
/** Options in front of a text for a shell, or glued to it. */
const TEXT_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^(?:-[a-z]*S|--split-string=?)/],
  ['script', /^(?:-[a-z]*c|--command=?)/],
  ['flock', /^(?:-[a-z]*c|--command=?)/],
]);
/** Files that are whatever is fed to the program. */
const INPUT_FILES = /^(-|\/dev\/(stdin|fd\/\d+)|\/proc\/self\/fd\/\d+)$/;
/** An option of an interpreter whose next word is the program. */
const INLINE = /^(-[A-Za-z]*[ceE]|--eval|--print)$/;
const INLINE_OF_SHELLS = /^-[A-Za-z]*c[A-Za-z]*$/;
const INPUT_OF_SHELLS = /^-[A-Za-z]*s[A-Za-z]*$/;
/** Options of interpreters whose next word is none of the program. */
const VALUE_OPTION = /^([-+][oO]|-[WXIr]|--rcfile|--init-file|--require|--import)$/;
const REPLACE_OPTION = /^(-[iI]|--replace)/;
const PLACE = '{}';
/** What a program gets as arguments from its input. */
const FROM_INPUT: ShellWord = { text: '', isComputed: true };
/** Whoever hides deeper hides. */
const MAX_DEPTH = 8;
const MAX_COMMANDS = 2_000;
/** Of what runs others. */
const MAX_ARGUMENTS = 200;

/** What a program with these arguments runs; `stdin` is the text that it is given, where there is one. */
export function reachOf(argv: readonly string[], stdin?: string): CommandReach {
  const walk = new Walk(stdin);
  walk.visit({ words: argv.map((text) => ({ text, isComputed: false })), files: [], isFed: false }, 0);
  return walk;
}

class Walk implements CommandReach {
  readonly commands: ShellCommand[] = [];
  readonly words: ShellWord[] = [];
  isUnreadable = false;
  readonly #stdin: string | undefined;

  constructor(stdin: string | undefined) {
    this.#stdin = stdin;
  }

  visit(command: ShellCommand & { readonly isInner?: true }, depth: number): void {
    const words = command.words.slice(countKeywords(command.words));
    const [program, ...args] = words;
    const isBeyond = depth > MAX_DEPTH || this.commands.length > MAX_COMMANDS;
    if (!isBeyond) this.commands.push({ ...command, words });
    // What a runner runs has its words from the runner.
    if (!isBeyond && !command.isInner) this.words.push(...command.words, ...command.files);
    if (!program) return;
    if (isBeyond || program.isComputed || program.wildcard !== undefined) {
      this.isUnreadable = true;
      return;
    }
    const name = basename(program.text);
    this.#readTexts(name, args, { isFed: command.isFed, depth });
    if (RUNNERS.test(name)) this.#run(name, args, { isFed: command.isFed && name !== 'xargs', depth });
    if (isUnknownText(name, args, command.isFed)) this.isUnreadable = true;
  }

  #readTexts(name: string, args: readonly ShellWord[], { isFed, depth }: { readonly isFed: boolean; readonly depth: number }): void {
    const texts = textsFor(name, args);
    if (texts.some(({ isComputed }) => isComputed)) this.isUnreadable = true;
    const given = !isFed && this.#stdin !== undefined && SHELLS.test(name) && readsInput(name, args) ? [this.#stdin] : [];
    for (const text of [...texts.map((word) => word.text), ...given]) {
      // What is read stands in for the input: the commands in it get none.
      for (const inner of readShell(text, { isFed })) this.visit(inner, depth + 1);
    }
  }

  /** Which words are options of the runner itself is not always known: each could begin what it runs. */
  #run(name: string, args: readonly ShellWord[], { isFed, depth }: { readonly isFed: boolean; readonly depth: number }): void {
    const placed = name === 'xargs' ? withInput(args) : args;
    if (placed.length > MAX_ARGUMENTS) {
      this.isUnreadable = true;
      return;
    }
    for (const [index, first] of placed.entries()) {
      const words = placed.slice(index);
      if (SHELLS.test(basename(first.text))) this.visit({ words, files: [], isFed: false, isInner: true }, depth + 1);
      else this.commands.push({ words, files: [], isFed: false });
    }
    for (const words of runBy(name, placed)) this.visit({ words, files: [], isFed, isInner: true }, depth + 1);
  }
}

/** Texts that a program gives to a shell, or reads as one. */
function textsFor(name: string, args: readonly ShellWord[]): readonly ShellWord[] {
  if (SHELLS.test(name)) return inlineText(args);
  if (name === 'eval') return [joined(args)];
  if (name === 'watch') return [joined(behindOptions(args))];
  if (name === 'trap') return args.filter(({ text }) => !text.startsWith('-')).slice(0, 1);
  if (name === 'alias') return args.map((arg) => ({ ...arg, text: arg.text.replace(/^[^=]*=?/, '') }));
  const option = TEXT_OPTIONS.get(name);
  return option ? args.flatMap((arg, index) => textAt(args, index, arg.text.replace(option, ''))) : [];
}

/** The text glued to an option, of which `rest` is left, or the word behind it. */
function textAt(args: readonly ShellWord[], index: number, rest: string): readonly ShellWord[] {
  const arg = args[index];
  if (!arg || rest === arg.text) return [];
  return rest === '' ? args.slice(index + 1, index + 2) : [{ ...arg, text: rest }];
}

/** `sh -c -o pipefail TEXT`: the first word behind that is no option and none of an option. */
function inlineText(args: readonly ShellWord[]): readonly ShellWord[] {
  const inline = args.findIndex(({ text }) => INLINE_OF_SHELLS.test(text));
  if (inline === -1) return [];
  const behind = args.slice(inline + 1);
  const first = behind.findIndex(({ text }, index) => !/^[-+]/.test(text) && !VALUE_OPTION.test(behind[index - 1]?.text ?? ''));
  return first === -1 ? [] : behind.slice(first, first + 1);
}

function joined(words: readonly ShellWord[]): ShellWord {
  return { text: words.map(({ text }) => text).join(' '), isComputed: words.some(({ isComputed }) => isComputed) };
}

/** True for an interpreter whose program comes from a computation, or from what is fed to it. */
function isUnknownText(name: string, args: readonly ShellWord[], isFed: boolean): boolean {
  if (name === '.' || name === 'source') return args[0] === undefined || isInput(args[0]);
  if (!INTERPRETERS.test(name)) return false;
  if (SHELLS.test(name) && inlineText(args).length > 0) return false;
  const inline = args.findIndex(({ text }) => INLINE.test(text));
  if (inline !== -1) return args.slice(inline + 1).some(({ isComputed }) => isComputed);
  const file = fileIn(name, args);
  return file === undefined ? isFed : file.isComputed || (isFed && INPUT_FILES.test(file.text));
}

/** True for an interpreter without a program or file of its own. */
function readsInput(name: string, args: readonly ShellWord[]): boolean {
  if ((SHELLS.test(name) ? inlineText(args).length : args.filter(({ text }) => INLINE.test(text)).length) > 0) return false;
  const file = fileIn(name, args);
  return file === undefined || INPUT_FILES.test(file.text);
}

/** The file with the program of an interpreter; undefined where it reads its input. */
function fileIn(name: string, args: readonly ShellWord[]): ShellWord | undefined {
  if (SHELLS.test(name) && args.some(({ text }) => INPUT_OF_SHELLS.test(text))) return undefined;
  return args.find(({ text }, index) => !/^[-+]./.test(text) && !VALUE_OPTION.test(args[index - 1]?.text ?? ''));
}

function isInput({ text, isComputed }: ShellWord): boolean {
  return isComputed || INPUT_FILES.test(text);
}

/** What `xargs` runs: its input takes the place that an option names, or comes behind. */
function withInput(args: readonly ShellWord[]): readonly ShellWord[] {
  const option = args.findIndex(({ text }) => REPLACE_OPTION.test(text));
  if (option === -1) return [...args, FROM_INPUT];
  const glued = args[option]?.text.replace(/^(-[iI]|--replace=?)/, '') ?? '';
  const next = args[option]?.text === '-I' ? args[option + 1]?.text : undefined;
  const place = glued || next || PLACE;
  return args.map((arg, index) => (index > option + 1 && arg.text.includes(place) ? { ...arg, isComputed: true } : arg));
}

/** What a runner runs: the words behind each of its options for that, else those behind its own. */
function runBy(name: string, args: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  const option = RUN_OPTIONS.get(name);
  if (!option) return [behindOptions(args)];
  const runs = args.flatMap(({ text }, index) => (option.test(text) ? [args.slice(index + 1)] : []));
  // The name of a file in place of the braces is computed in a text, and only a file as a word.
  return runs.map((words) =>
    words.map((word) => (word.text !== PLACE && word.text.includes(PLACE) ? { ...word, isComputed: true } : word)),
  );
}

/** Without the runner's own options, variables, numbers and lengths of time. */
function behindOptions(words: readonly ShellWord[]): readonly ShellWord[] {
  const first = words.findIndex(({ text }) => !/^(-.*|[A-Za-z_]\w*=.*|[\d.]+[smhd]?)$/s.test(text));
  return first === -1 ? [] : words.slice(first);
}
