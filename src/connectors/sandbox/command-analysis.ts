import { basename } from 'node:path';
import { parseShell } from './shell-parser.ts';
import { approximateCommands, countKeywords, type ShellCommand, type ShellWord } from './shell-words.ts';

/** The commands that a command would run, as far as they are known before the run. */
interface CommandAnalysis {
  /** The commands. Each argument of a runner such as `env` counts as the start of a command, since not all runner options are known. */
  readonly commands: readonly ShellCommand[];
  /** Words of all commands, and the names of the files that they read and write. */
  readonly words: readonly ShellWord[];
  /** True if a program or shell text is known only at run time: it could be any program. */
  readonly isComputed: boolean;
  /** The construct at which the parsing ended, if any; the text after it could be anything. */
  readonly unreadable: string | undefined;
}

const SHELLS = /^(sh|bash|dash|ash|zsh|ksh|mksh|fish)$/;
/** Shells with other grammars than `sh` and bash. */
const OTHER_SHELLS = /^(zsh|ksh|mksh|fish)$/;
/** Shell builtins that change the grammar, or run their arguments: their effect cannot be parsed. */
const UNREADABLE_BUILTINS = /^(alias|bind|compgen|complete|enable|fc)$/;
const AWKS = /^[gmn]?awk$/;
/** Matches an awk program that runs other programs or reads their output. */
const AWK_RUNS = /\bsystem\b|\bgetline\b|\|&|\|\s{0,9}"|"\s{0,9}\|(?!\|)/;
/** Programs that execute their input. */
const INTERPRETERS = /^(sh|bash|dash|ash|zsh|ksh|fish|python[\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua[\d.]*|tclsh|osascript|pwsh)$/;
/** Programs and shell builtins that run their arguments. */
const RUNNERS =
  /^(env|nice|ionice|nohup|setsid|stdbuf|time|timeout|xargs|busybox|chrt|taskset|prlimit|flock|find|watch|script|exec|command|builtin)$/;
/** Options after which a runner's command begins; runners that are not listed need no option. */
const RUN_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['find', /^-(exec|ok)(dir)?$/],
  ['script', /^$/],
]);
/** Options whose value is a shell text; the value may follow without a space. */
const TEXT_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^(?:-[a-z]*S|--split-string=?)/],
  ['script', /^(?:-[a-z]*c|--command=?)/],
  ['flock', /^(?:-[a-z]*c|--command=?)/],
]);
/** Paths that mean the program's standard input or another open file. */
const INPUT_FILES = /^(-|\/dev\/(stdin|fd\/\d+)|\/proc\/self\/fd\/\d+)$/;
/** An option of an interpreter whose next word is a program text. */
const INLINE = /^(-[A-Za-z]*[ceE]|--eval|--print)$/;
const INLINE_OF_SHELLS = /^-[A-Za-z]*c[A-Za-z]*$/;
const INPUT_OF_SHELLS = /^-[A-Za-z]*s[A-Za-z]*$/;
const VALUE_OF_SHELLS = /^([-+][A-Za-z]*[oO][A-Za-z]*|--rcfile|--init-file)$/;
/** Options of runners whose value is the next word. That word does not begin a command. */
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
/** Options of interpreters whose value is the next word. */
const VALUE_OPTION = /^([-+][oO]|-[WXIr]|--rcfile|--init-file|--require|--import)$/;
const REPLACE_OPTION = /^(-[iI]|--replace)/;
const REPLACEMENT = '{}';
/** Stands for an argument that a program reads from its input. */
const FROM_INPUT: ShellWord = { text: '', isComputed: true };
/** Maximum nesting of commands. A deeper command counts as unknown: it could be any program. */
const MAX_DEPTH = 8;
const MAX_COMMANDS = 2_000;
/** Maximum number of a runner's arguments; a runner with more arguments counts as unreadable. */
const MAX_ARGUMENTS = 200;
/** Maximum number of characters in all shell texts of a command together. */
const MAX_CHARACTERS = 262_144;

/** Returns the commands that a program with these arguments runs; `stdin` is its standard input, if known. */
export function analyzeCommand(argv: readonly string[], stdin?: string): CommandAnalysis {
  const walk = new CommandAnalyzer(stdin);
  walk.visit({ words: argv.map((text) => ({ text, isComputed: false })), files: [], isFed: false }, 0);
  return walk;
}

interface VisitedCommand extends ShellCommand {
  /** True for a runner's command, whose words have already been checked. */
  readonly isInner?: true;
  /** Text in the command's words that the runner replaces by names, such as `{}` of xargs. */
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
  /** Already parsed texts, with their context. */
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
      // If the text is the standard input, `isFed` is false, since its commands then have no other input.
      const { commands, unreadable } = parseShell(text, { isFed, place });
      this.unreadable ??= unreadable;
      for (const inner of commands) this.visit(inner, depth + 1);
    }
  }

  /** Handles awk programs and builtins with a special grammar, most of which count as unreadable. */
  #readOwn(name: string, args: readonly ShellWord[]): void {
    const runsBack = /^(mapfile|readarray)$/.test(name) && args.some(({ text }) => /^-[a-z]*C/.test(text));
    if ((UNREADABLE_BUILTINS.test(name) && args.length > 0) || runsBack) this.unreadable ??= `\`${name}\``;
    if (!AWKS.test(name)) return;
    if (args.some(({ text }) => AWK_RUNS.test(text))) this.unreadable ??= 'a program for awk that runs commands';
    for (const { text } of args) {
      for (const string of text.split('"')) for (const command of approximateCommands(string)) this.visit(command, 0);
    }
  }

  /** Analyses a runner. Its options are not always known: any word could begin the command. */
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

/** Returns the arguments that a program runs as shell text, itself or through a shell. */
function textsFor(name: string, args: readonly ShellWord[]): readonly ShellWord[] {
  if (SHELLS.test(name)) return inlineText(args);
  if (name === 'eval') return [joined(args[0]?.text === '--' ? args.slice(1) : args)];
  if (name === 'watch') return [joined(behindOptions(name, args))];
  if (name === 'trap') return args.filter(({ text }) => !text.startsWith('-')).slice(0, 1);
  const option = TEXT_OPTIONS.get(name);
  return option ? args.flatMap((arg, index) => textAt(args, index, arg.text.replace(option, ''))) : [];
}

/** Returns the text of the option at `index`: `rest` (the remainder of its word) or, if `rest` is empty, the next word. */
function textAt(args: readonly ShellWord[], index: number, rest: string): readonly ShellWord[] {
  const arg = args[index];
  if (!arg || rest === arg.text) return [];
  return rest === '' ? args.slice(index + 1, index + 2) : [{ ...arg, text: rest }];
}

interface ShellArguments {
  /** The first word that is neither an option nor an option's value: with `-c` a program text, else a file. */
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

/** Returns true if the program of an interpreter is unknown: it is expanded at run time, or read from the interpreter's input. */
function isUnknownText(name: string, args: readonly ShellWord[], isFed: boolean): boolean {
  if (name === '.' || name === 'source') return args[0] === undefined || isInput(args[0]);
  if (!INTERPRETERS.test(name)) return false;
  if (SHELLS.test(name) && inlineText(args).length > 0) return false;
  const inline = SHELLS.test(name) ? -1 : args.findIndex(({ text }) => INLINE.test(text));
  if (inline !== -1) return args.slice(inline + 1).some(({ isComputed }) => isComputed);
  const file = fileIn(name, args);
  return file === undefined ? isFed : file.isComputed || (isFed && INPUT_FILES.test(file.text));
}

/** Returns whether an interpreter reads its input: it has neither a program text nor a file among its arguments. */
function readsInput(name: string, args: readonly ShellWord[]): boolean {
  if ((SHELLS.test(name) ? inlineText(args).length : args.filter(({ text }) => INLINE.test(text)).length) > 0) return false;
  const file = fileIn(name, args);
  return file === undefined || INPUT_FILES.test(file.text);
}

/** Returns the program file of an interpreter; undefined if the interpreter reads its input. */
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

/** Returns the arguments of `xargs` and marks where its input goes: at the placeholder (`-I {}`) or, without one, after the last word. */
function withInput(args: readonly ShellWord[]): readonly ShellWord[] {
  const option = args.findIndex(({ text }) => REPLACE_OPTION.test(text));
  if (option === -1) return [...args, FROM_INPUT];
  const glued = args[option]?.text.replace(/^(-[iI]|--replace=?)/, '') ?? '';
  const next = args[option]?.text === '-I' ? args[option + 1]?.text : undefined;
  const place = glued || next || REPLACEMENT;
  return args.map((arg, index) => (index > option + 1 && arg.text.includes(place) ? { ...arg, isComputed: true } : arg));
}

/** Returns the commands of a runner: the words after each option in RUN_OPTIONS or, for other runners, the words after their options. */
function runBy(name: string, args: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  const option = RUN_OPTIONS.get(name);
  if (!option) return [behindOptions(name, args)];
  const runs = args.flatMap(({ text }, index) => (option.test(text) ? [args.slice(index + 1)] : []));
  // find replaces `{}` by a file name. The name counts as known if `{}` is a whole word or in a shell text, otherwise as unknown.
  return runs.map((words) => {
    const text = SHELLS.test(basename(words[0]?.text ?? '')) ? inlineText(words.slice(1))[0] : undefined;
    const isMixed = (word: ShellWord) => word !== text && word.text !== REPLACEMENT && word.text.includes(REPLACEMENT);
    return words.map((word) => (isMixed(word) ? { ...word, isComputed: true } : word));
  });
}

/** Returns the words after the runner's own options, assignments of variables, numbers and durations. */
function behindOptions(name: string, words: readonly ShellWord[]): readonly ShellWord[] {
  const option = VALUE_OF_RUNNERS.get(name);
  const isOwn = ({ text }: ShellWord, index: number) =>
    /^(-.*|[A-Za-z_]\w*=.*|[\d.]+[smhd]?)$/s.test(text) || (index > 0 && option?.test(words[index - 1]?.text ?? ''));
  const first = words.findIndex((word, index) => !isOwn(word, index));
  return first === -1 ? [] : words.slice(first);
}
