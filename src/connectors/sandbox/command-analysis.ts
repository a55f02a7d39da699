import { basename } from 'node:path';
import { parseShell } from './shell-parser.ts';
import { approximateCommands, countKeywords, type ShellCommand, type ShellWord } from './shell-words.ts';

/** The analysis of a command before it runs: all commands that it would start, as far as they are known. */
interface CommandAnalysis {
  /** The commands. A runner such as `env` could run any of its arguments, so each argument counts as the start of a command. */
  readonly commands: readonly ShellCommand[];
  /** The words of all commands, and the names of the files in their redirections. */
  readonly words: readonly ShellWord[];
  /** True if a program's name or a shell text is known only at run time. The command could then run any program. */
  readonly isComputed: boolean;
  /** The construct that the parser cannot read; undefined if there is none. The text after the construct is unknown. */
  readonly unreadable: string | undefined;
}

const SHELLS = /^(sh|bash|dash|ash|zsh|ksh|mksh|fish)$/;
/** Shells whose grammar differs from that of `sh` and bash. */
const OTHER_SHELLS = /^(zsh|ksh|mksh|fish)$/;
/** Shell builtins whose effect is not analyzed, because they change the grammar or run their arguments. */
const UNREADABLE_BUILTINS = /^(alias|bind|compgen|complete|enable|fc)$/;
const AWKS = /^[gmn]?awk$/;
/** Matches the text of an awk program that runs other programs or reads their output. */
const AWK_RUNS = /\bsystem\b|\bgetline\b|\|&|\|\s{0,9}"|"\s{0,9}\|(?!\|)/;
/** Programs that run code from a file, from an argument or from standard input. */
const INTERPRETERS = /^(sh|bash|dash|ash|zsh|ksh|fish|python[\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua[\d.]*|tclsh|osascript|pwsh)$/;
/** Programs and shell builtins that run a command which is among their arguments. */
const RUNNERS =
  /^(env|nice|ionice|nohup|setsid|stdbuf|time|timeout|xargs|busybox|chrt|taskset|prlimit|flock|find|watch|script|exec|command|builtin)$/;
/** Options after which a runner's command begins. For a runner that is not listed, the command begins after the runner's own options. */
const RUN_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['find', /^-(exec|ok)(dir)?$/],
  ['script', /^$/],
]);
/** Options of runners whose value is a shell text. The value is the rest of the option's word or, if that is empty, the next word. */
const TEXT_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^(?:-[a-z]*S|--split-string=?)/],
  ['script', /^(?:-[a-z]*c|--command=?)/],
  ['flock', /^(?:-[a-z]*c|--command=?)/],
]);
/** Paths that stand for standard input, or for another file that the program already has open. */
const INPUT_FILES = /^(-|\/dev\/(stdin|fd\/\d+)|\/proc\/self\/fd\/\d+)$/;
/** Options of interpreters after which the code to run follows, such as `-c` and `--eval`. */
const INLINE = /^(-[A-Za-z]*[ceE]|--eval|--print)$/;
const INLINE_OF_SHELLS = /^-[A-Za-z]*c[A-Za-z]*$/;
const INPUT_OF_SHELLS = /^-[A-Za-z]*s[A-Za-z]*$/;
const VALUE_OF_SHELLS = /^([-+][A-Za-z]*[oO][A-Za-z]*|--rcfile|--init-file)$/;
/** Options of runners that have the next word as their value, so that the next word does not begin a command. */
const VALUE_OF_RUNNERS: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^(-[a-z]*[uC]|--unset|--chdir)$/],
  ['nice', /^(-n|--adjustment)$/],
  ['timeout', /^(-[sk]|--signal|--kill-after)$/],
  ['xargs', /^-[0rtpx]*[nPIdsLEa]$/],
  ['stdbuf', /^-[ioe]$/],
  ['ionice', /^-[a-z]*[cnp]$/],
  ['exec', /^-[cl]*a$/],
  ['time', /^-[a-z]*[fo]$/],
  ['watch', /^-[a-z]*n$/],
]);
/** Options of interpreters that have the next word as their value. */
const VALUE_OPTION = /^([-+][oO]|-[WXIr]|--rcfile|--init-file|--require|--import)$/;
const REPLACE_OPTION = /^(-[iI]|--replace)/;
const REPLACEMENT = '{}';
/** Stands for the arguments that `xargs` reads from its input and appends to its command. */
const FROM_INPUT: ShellWord = { text: '', isComputed: true };
/** Maximum nesting of commands. A deeper command counts as unknown: it could be any program. */
const MAX_DEPTH = 8;
const MAX_COMMANDS = 2_000;
/** Maximum number of arguments of a runner. With more arguments, the command counts as unreadable. */
const MAX_ARGUMENTS = 200;
/** Maximum number of characters in all shell texts of a command together. With more, the command counts as unreadable. */
const MAX_CHARACTERS = 262_144;

/** Returns the commands that `argv` runs; `argv[0]` is the program. `stdin` is the program's standard input, if known. */
export function analyzeCommand(argv: readonly string[], stdin?: string): CommandAnalysis {
  const walk = new CommandAnalyzer(stdin);
  walk.visit({ words: argv.map((text) => ({ text, isComputed: false })), files: [], isFed: false }, 0);
  return walk;
}

interface VisitedCommand extends ShellCommand {
  /** True for the command of a runner. Its words are arguments of the runner and were checked with the runner. */
  readonly isInner?: true;
  /** Placeholder in the command's words that a runner replaces by file names, such as `{}` of find. */
  readonly place?: string;
}

interface CommandContext {
  readonly isFed: boolean;
  readonly depth: number;
  readonly place?: string | undefined;
}

class CommandAnalyzer implements CommandAnalysis {
  readonly commands: ShellCommand[] = [];
  readonly words: ShellWord[] = [];
  isComputed = false;
  unreadable: string | undefined;
  readonly #stdin: string | undefined;
  /** Texts that were already parsed, each with its `isFed` and `place`. No text is parsed twice with the same `isFed` and `place`. */
  readonly #texts = new Set<string>();
  #characters = 0;

  constructor(stdin: string | undefined) {
    this.#stdin = stdin;
  }

  visit(command: VisitedCommand, depth: number): void {
    const words = command.words.slice(countKeywords(command.words));
    if (command.isText) {
      this.commands.push({ ...command, words });
      for (const word of words) if (word.text.includes('/')) this.words.push(word);
      return;
    }
    const [program, ...args] = words;
    const isBeyond = depth > MAX_DEPTH || this.commands.length > MAX_COMMANDS;
    if (!isBeyond) this.commands.push({ ...command, words });
    if (!isBeyond && !command.isInner) for (const word of [...command.words, ...command.files]) this.words.push(word);
    if (!program) return;
    const { place } = command;
    const isPlace = place !== undefined && program.text.includes(place);
    if (isBeyond || isPlace || program.isComputed || program.wildcard !== undefined) {
      this.isComputed = true;
      return;
    }
    const name = basename(program.text);
    const around = { isFed: command.isFed, depth, place };
    this.#readTexts(name, args, around);
    this.#readOwn(name, args);
    if (RUNNERS.test(name)) this.#run(name, args, { ...around, isFed: command.isFed && name !== 'xargs' });
    if (isUnknownText(name, args, command.isFed)) this.isComputed = true;
  }

  #readTexts(name: string, args: readonly ShellWord[], { isFed, depth, place }: CommandContext): void {
    const texts = textsFor(name, args);
    if (texts.some(({ isComputed }) => isComputed)) this.isComputed = true;
    const given = !isFed && this.#stdin !== undefined && SHELLS.test(name) && readsInput(name, args) ? [this.#stdin] : [];
    for (const text of [...texts.map((word) => word.text), ...given]) this.#readText(name, text, { isFed, depth, place });
  }

  #readText(name: string, text: string, { isFed, depth, place }: CommandContext): void {
    const key = `${isFed} ${place}\n${text}`;
    if (this.#texts.has(key)) return;
    if (this.commands.length > MAX_COMMANDS) this.unreadable ??= `more than ${MAX_COMMANDS} commands`;
    if (this.commands.length > MAX_COMMANDS) return;
    this.#texts.add(key);
    this.#characters += text.length;
    if (OTHER_SHELLS.test(name)) this.unreadable ??= `a text for ${name}; write it for \`sh\` or \`bash\``;
    else if (this.#characters > MAX_CHARACTERS) this.unreadable ??= `more than ${MAX_CHARACTERS} characters of shell`;
    else {
      // If the text is the whole standard input, `isFed` is false: the commands in the text get no input from outside of the text.
      const { commands, unreadable } = parseShell(text, { isFed, place });
      this.unreadable ??= unreadable;
      for (const inner of commands) this.visit(inner, depth + 1);
    }
  }

  /** Handles awk programs, and the builtins that are not analyzed. An awk program counts as unreadable only if it may run commands. */
  #readOwn(name: string, args: readonly ShellWord[]): void {
    const runsBack = /^(mapfile|readarray)$/.test(name) && args.some(({ text }) => /^-[a-z]*C/.test(text));
    if ((UNREADABLE_BUILTINS.test(name) && args.length > 0) || runsBack) this.unreadable ??= `\`${name}\``;
    if (!AWKS.test(name)) return;
    if (args.some(({ text }) => AWK_RUNS.test(text))) this.unreadable ??= 'a program for awk that runs commands';
    for (const { text } of args) {
      for (const string of text.split('"')) for (const command of approximateCommands(string)) this.visit(command, 0);
    }
  }

  /** Analyzes a runner such as `env`. Not all options of runners are known, so any word could begin the command. */
  #run(name: string, args: readonly ShellWord[], { isFed, depth, place }: CommandContext): void {
    const placed = name === 'xargs' ? withInput(args) : args;
    if (placed.length > MAX_ARGUMENTS) {
      this.unreadable ??= `more than ${MAX_ARGUMENTS} arguments of ${name}`;
      return;
    }
    for (const [index, first] of placed.entries()) {
      const words = placed.slice(index);
      const inner = basename(first.text);
      this.commands.push({ words, files: [], isFed: false });
      if (SHELLS.test(inner)) this.visit({ words, files: [], isFed: false, isInner: true }, depth + 1);
      else if (index > 0) this.#readTexts(inner, words.slice(1), { isFed: false, depth: depth + 1 });
    }
    for (const words of runBy(name, placed)) {
      const inPlace = name === 'find' ? REPLACEMENT : place;
      this.visit({ words, files: [], isFed, isInner: true, ...(inPlace !== undefined && { place: inPlace }) }, depth + 1);
    }
  }
}

/** Returns those arguments that the program runs as a shell text, such as the text after `sh -c` or `eval`. */
function textsFor(name: string, args: readonly ShellWord[]): readonly ShellWord[] {
  if (SHELLS.test(name)) return inlineText(args);
  if (name === 'eval') return [joined(args[0]?.text === '--' ? args.slice(1) : args)];
  if (name === 'watch') return [joined(behindOptions(name, args))];
  if (name === 'trap') return args.filter(({ text }) => !text.startsWith('-')).slice(0, 1);
  const option = TEXT_OPTIONS.get(name);
  return option ? args.flatMap((arg, index) => textAt(args, index, arg.text.replace(option, ''))) : [];
}

/** Returns the value of the option at `index`: `rest` (the remainder of the option's word) or, if `rest` is empty, the next word. */
function textAt(args: readonly ShellWord[], index: number, rest: string): readonly ShellWord[] {
  const arg = args[index];
  if (!arg || rest === arg.text) return [];
  return rest === '' ? args.slice(index + 1, index + 2) : [{ ...arg, text: rest }];
}

interface ShellArguments {
  /** The first word that is neither an option nor an option's value. With `-c` it is a shell text, otherwise a file. */
  readonly operand: ShellWord | undefined;
  readonly isInline: boolean;
  readonly isInput: boolean;
}

/** Parses the arguments of a shell, such as `sh -c -o pipefail TEXT`. */
function shellArguments(args: readonly ShellWord[]): ShellArguments {
  let isInline = false;
  let isInput = false;
  for (let index = 0; index < args.length; index++) {
    const { text } = args[index] as ShellWord;
    if (text === '--' || (text === '-' && isInline)) return { operand: args[index + 1], isInline, isInput };
    if (!/^[-+]./.test(text)) return { operand: args[index], isInline, isInput };
    isInline ||= INLINE_OF_SHELLS.test(text);
    isInput ||= INPUT_OF_SHELLS.test(text);
    if (VALUE_OF_SHELLS.test(text)) index++;
  }
  return { operand: undefined, isInline, isInput };
}

function inlineText(args: readonly ShellWord[]): readonly ShellWord[] {
  const { operand, isInline } = shellArguments(args);
  return isInline && operand ? [operand] : [];
}

function joined(words: readonly ShellWord[]): ShellWord {
  return { text: words.map(({ text }) => text).join(' '), isComputed: words.some(({ isComputed }) => isComputed) };
}

/** Returns true if an interpreter runs unknown code: the code is computed at run time, or comes from unknown input. */
function isUnknownText(name: string, args: readonly ShellWord[], isFed: boolean): boolean {
  if (name === '.' || name === 'source') return args[0] === undefined || isInput(args[0]);
  if (!INTERPRETERS.test(name)) return false;
  if (SHELLS.test(name) && inlineText(args).length > 0) return false;
  const inline = SHELLS.test(name) ? -1 : args.findIndex(({ text }) => INLINE.test(text));
  if (inline !== -1) return args.slice(inline + 1).some(({ isComputed }) => isComputed);
  const file = fileIn(name, args);
  return file === undefined ? isFed : file.isComputed || (isFed && INPUT_FILES.test(file.text));
}

/** Returns whether an interpreter reads its code from its input, because its arguments contain neither code nor a file. */
function readsInput(name: string, args: readonly ShellWord[]): boolean {
  if ((SHELLS.test(name) ? inlineText(args).length : args.filter(({ text }) => INLINE.test(text)).length) > 0) return false;
  const file = fileIn(name, args);
  return file === undefined || INPUT_FILES.test(file.text);
}

/** Returns the argument that names an interpreter's program file; undefined if the interpreter reads its code from its input. */
function fileIn(name: string, args: readonly ShellWord[]): ShellWord | undefined {
  if (SHELLS.test(name)) {
    const { operand, isInput } = shellArguments(args);
    return isInput ? undefined : operand;
  }
  return args.find(({ text }, index) => !/^[-+]./.test(text) && !VALUE_OPTION.test(args[index - 1]?.text ?? ''));
}

function isInput({ text, isComputed }: ShellWord): boolean {
  return isComputed || INPUT_FILES.test(text);
}

/** Adds the input of `xargs` to its arguments. With `-I`, words with the placeholder become computed. Without `-I`, appends FROM_INPUT. */
function withInput(args: readonly ShellWord[]): readonly ShellWord[] {
  const option = args.findIndex(({ text }) => REPLACE_OPTION.test(text));
  if (option === -1) return [...args, FROM_INPUT];
  const glued = args[option]?.text.replace(/^(-[iI]|--replace=?)/, '') ?? '';
  const next = args[option]?.text === '-I' ? args[option + 1]?.text : undefined;
  const place = glued || next || REPLACEMENT;
  return args.map((arg, index) => (index > option + 1 && arg.text.includes(place) ? { ...arg, isComputed: true } : arg));
}

/** Returns the commands of a runner. RUN_OPTIONS says where a command begins. A runner such as `find` may have several commands. */
function runBy(name: string, args: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  const option = RUN_OPTIONS.get(name);
  if (!option) return [behindOptions(name, args)];
  const runs = args.flatMap(({ text }, index) => (option.test(text) ? [args.slice(index + 1)] : []));
  // find replaces `{}` by a file name. A word in which `{}` is only a part counts as computed, unless the word is a shell text.
  return runs.map((words) => {
    const text = SHELLS.test(basename(words[0]?.text ?? '')) ? inlineText(words.slice(1))[0] : undefined;
    const isMixed = (word: ShellWord) => word !== text && word.text !== REPLACEMENT && word.text.includes(REPLACEMENT);
    return words.map((word) => (isMixed(word) ? { ...word, isComputed: true } : word));
  });
}

/** Returns the command of a runner: the words after the runner's options, variable assignments, numbers and durations. */
function behindOptions(name: string, words: readonly ShellWord[]): readonly ShellWord[] {
  const option = VALUE_OF_RUNNERS.get(name);
  const isOwn = ({ text }: ShellWord, index: number) =>
    /^(-.*|[A-Za-z_]\w*=.*|[\d.]+[smhd]?)$/s.test(text) || (index > 0 && option?.test(words[index - 1]?.text ?? ''));
  const first = words.findIndex((word, index) => !isOwn(word, index));
  return first === -1 ? [] : words.slice(first);
}
