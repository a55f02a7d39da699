import { AtmoError } from '../../core/errors.ts';
import {
  countKeywords,
  expandWord,
  type PartialWord,
  refuse,
  type ShellCommand,
  type ShellParserState,
  type ShellWord,
  ShellWordParser,
} from './shell-words.ts';

/** Result of parsing a shell text. */
interface ParsedShell {
  readonly commands: readonly ShellCommand[];
  /** The construct at which the parsing ended; absent if all of the text was parsed. Commands after the construct are missing. */
  readonly unreadable?: string;
}

interface ParseShellOptions {
  /** True if the commands get input from outside of the text, such as from a pipe. */
  readonly isFed: boolean;
  /** Placeholder that another program replaces by a word before the shell reads the text, such as `{}` of find. */
  readonly place: string | undefined;
}

/** Reserved words that begin a group of commands, each with the word that ends the group. All commands of a group share their input. */
const GROUPS: ReadonlyMap<string, string> = new Map([
  ['while', 'done'],
  ['until', 'done'],
  ['for', 'done'],
  ['if', 'fi'],
  ['{', '}'],
]);
const GROUP_ENDS = /^(?:done|fi|\}|esac)$/;
/** Reserved words after which a command begins. */
const PREFIXES = /^(?:if|then|else|elif|do|while|until|!|\{)$/;
/** Keywords of bash whose special grammar is not parsed. */
const OWN_GRAMMAR = /^(?:function|select|coproc)$/;
const FUNCTION_NAME = /^[\w.:@+-]+$/;
const MAX_DEPTH = 16;
const MAX_GROUPS = 64;
const MAX_COMMANDS = 2_000;
const MAX_BRACED_WORDS = 2_000;
const MAX_DOCUMENTS = 16;

const OPERATOR = /&>>?|<<<|<<-?|<>|<&|<|>>|>&|>\||>/y;
const SEPARATOR = /\|\||&&|\|&|;;&|;&|;;|[;&|\n()]/y;
const DELIMITER = /(?:'(\w+)'|"(\w+)"|\\(\w+)|(\w+))(?=[ \t\n;&|<>()]|$)/y;
const EMPTY_PARENTHESES = /\([ \t]*\)/y;

/**
 * Returns the commands of a text and of its substitutions, as far as they are known before the run. Parses the common grammar of `sh` and
 * bash: simple commands, quotes, variables, substitutions, pipes and lists, redirections, groups, loops, `if`, `case` and functions (POSIX,
 * 2.2 to 2.10), and the braces of bash. Any other construct ends the parsing. Also returns comments and the lines of here-documents, as
 * commands with `isText`.
 */
export function parseShell(text: string, options: ParseShellOptions): ParsedShell {
  const commands: ShellCommand[] = [];
  try {
    new ShellParser(
      { text, at: 0, commands, place: options.place, budget: { words: MAX_BRACED_WORDS } },
      { end: '', isFed: options.isFed, depth: 0 },
    ).read();
  } catch (error) {
    if (error instanceof AtmoError) return { commands, unreadable: error.message };
    throw error;
  }
  return { commands };
}

interface Group {
  readonly end: string;
  readonly isFed: boolean;
  /** Index of the group's first command. */
  readonly from: number;
  /** For `case`: the next expected element. */
  stage?: 'subject' | 'in' | 'pattern' | 'pattern end' | 'commands';
}

interface HereDocument {
  readonly from: number;
  readonly end: string;
  readonly isQuoted: boolean;
  readonly isIndented: boolean;
}

interface ParserOptions {
  /** `)` if the parser reads a substitution, which ends there. Empty if it reads the whole text. */
  readonly end: '' | ')';
  readonly isFed: boolean;
  /** Number of texts, such as substitutions, that enclose this text. */
  readonly depth: number;
}

/** Parses a text in one pass. */
class ShellParser extends ShellWordParser {
  readonly #options: ParserOptions;
  #words: ShellWord[] = [];
  #files: ShellWord[] = [];
  #isFed: boolean;
  /** True after a redirection in the current command. From there on, no reserved word and no group can begin. */
  #isRedirected = false;
  /** True after `&>`. It ends a command in `sh` but not in bash, so words after it are refused. */
  #isSplit = false;
  /** True directly after a pipe, or after new lines that follow the pipe. */
  #isPiped = false;
  /** True if the next group is the body of a function. What the function gets as input is unknown until its call. */
  #isBody = false;
  #isFor = false;
  /** True between `[[` and `]]`. */
  #isInTest = false;
  #isOver = false;
  /** The open groups, the outermost first. */
  readonly #groups: Group[];
  /** The group that has just ended; redirections of its input may follow. */
  #ended: Group | undefined;
  /** Here-documents whose bodies begin in the next line. */
  #documents: HereDocument[] = [];

  constructor(source: ShellParserState, options: ParserOptions) {
    super(source);
    this.#options = options;
    this.#isFed = options.isFed;
    this.#groups = [{ end: '', isFed: options.isFed, from: source.commands.length }];
    if (options.depth > MAX_DEPTH) refuse(`substitutions that are more than ${MAX_DEPTH} deep`);
  }

  read(): void {
    while (!this.#isOver && this.source.at < this.text.length) this.#step();
    if (!this.#isOver && this.#options.end !== '') refuse('a parenthesis that nothing closes');
    this.#endCommand();
    if (this.#documents.length > 0) refuse('a here-document without its last line');
    if (this.#group.stage !== undefined) refuse('`case` without `esac`');
  }

  get #group(): Group {
    return this.#groups.at(-1) as Group;
  }

  #step(): void {
    const sign = this.sign;
    const next = this.text[this.source.at + 1];
    if (sign === ' ' || sign === '\t') this.#endWord(1);
    else if ((sign === '<' || sign === '>') && next === '(') this.nested(2, sign === '>');
    else if (sign === '<' || sign === '>' || (sign === '&' && next === '>')) this.#redirection();
    else if (/[;&|\n()]/.test(sign)) this.#separator();
    else if (sign === '#' && !this.word) this.#comment();
    else this.partOfWord(sign);
  }

  #comment(): void {
    if (this.#isInTest) refuse('`#` in `[[ … ]]`');
    const from = this.source.at;
    this.source.at = this.endOfLine(from);
    this.pushText(this.text.slice(from + 1, this.source.at));
  }

  /** Parses a substitution by a new parser, since its content is a text of its own. */
  protected nested(head: number, isFed: boolean): void {
    this.source.at += head;
    const { depth } = this.#options;
    new ShellParser(this.source, { end: ')', isFed: isFed || this.#isFed, depth: depth + 1 }).read();
    this.add('', { isQuoted: true, isComputed: true });
  }

  protected inner(text: string): void {
    this.#parserOf(text).read();
  }

  #parserOf(text: string): ShellParser {
    return new ShellParser({ ...this.source, text, at: 0 }, { end: '', isFed: this.#isFed, depth: this.#options.depth + 1 });
  }

  /** Parses a redirection. The file or text after the operator is not a word of the command. */
  #redirection(): void {
    const isNumber = this.word?.isBare === true && /^\d+$/.test(this.word.pattern);
    if (this.word?.isBare && /^(?:\d\d+|\{\w+\})$/.test(this.word.pattern)) refuse('a redirection of a file above 9');
    if (isNumber && this.sign !== '&') this.word = undefined;
    this.#endWord(0);
    if (this.#isInCase()) refuse('a redirection inside of `case … in`');
    const sign = this.found(OPERATOR)?.[0] ?? '';
    if (sign.startsWith('<')) this.#feed();
    this.#isRedirected = true;
    if (sign.startsWith('&')) this.#isSplit = true;
    while (this.sign === ' ' || this.sign === '\t') this.source.at++;
    if (sign === '<<' || sign === '<<-') this.#hereDocument(sign === '<<-');
    else this.#target();
  }

  #target(): void {
    if (this.sign === '#') refuse('`#` behind a redirection');
    while (this.source.at < this.text.length && !/[ \t\n;&|<>()]/.test(this.sign)) this.partOfWord(this.sign);
    const isProcess = !this.word && /^[<>]\(/.test(this.text.slice(this.source.at, this.source.at + 2));
    if (isProcess) this.nested(2, this.sign === '>');
    const target = this.word;
    this.word = undefined;
    if (!target) refuse('a redirection without a file');
    this.#files.push(...this.#wordsOf(target));
  }

  #hereDocument(isIndented: boolean): void {
    if (this.#isInTest) refuse('`<<` in `[[ … ]]`');
    const from = this.source.at;
    const found = this.found(DELIMITER);
    if (this.#documents.length >= MAX_DOCUMENTS) refuse('too many here-documents in a line');
    if (!found) refuse('a here-document whose last line is no plain word');
    const quoted = found[1] ?? found[2] ?? found[3];
    this.#documents.push({ from, end: quoted ?? found[4] ?? '', isQuoted: quoted !== undefined, isIndented });
  }

  #feed(): void {
    this.#isFed = true;
    if (!this.#ended) return;
    const { from } = this.#ended;
    this.#ended = undefined;
    const { commands } = this.source;
    for (let index = from; index < commands.length; index++) commands[index] = { ...(commands[index] as ShellCommand), isFed: true };
  }

  /** Reads the bodies of a line's here-documents. If the delimiter is not quoted, the body's substitutions are parsed, since they run. */
  #readDocuments(): void {
    const first = this.#documents[0];
    if (first && this.text.indexOf('\n', first.from) !== this.source.at - 1) refuse('a new line between `<<` and the here-document');
    for (const document of this.#documents.splice(0)) {
      const body = this.#bodyOf(document);
      this.pushText(body);
      if (!document.isQuoted) this.#parserOf(body).readBody();
    }
  }

  #bodyOf({ end, isIndented }: HereDocument): string {
    const from = this.source.at;
    for (let at = from; at < this.text.length; at = this.source.at) {
      const to = this.endOfLine(at);
      this.source.at = Math.min(to + 1, this.text.length);
      const line = this.text.slice(at, to);
      if ((isIndented ? line.replace(/^\t+/, '') : line) === end) return this.text.slice(from, at);
    }
    return refuse('a here-document without its last line');
  }

  #separator(): void {
    if (this.sign === '(') {
      this.#parenthesis();
      return;
    }
    this.#endWord(0);
    const sign = this.found(SEPARATOR)?.[0] ?? '';
    if (this.#isInCase()) {
      this.#separatorInCase(sign);
      return;
    }
    if (sign === ';&' || sign === ';;&' || (sign === ';;' && this.#group.stage === undefined)) refuse(`\`${sign}\``);
    const wasPiped = this.#isPiped && this.#words.length === 0 && !this.#isRedirected;
    this.#endCommand();
    if (sign === ')') this.#close();
    else if (sign === ';;') this.#group.stage = 'pattern';
    this.#isPiped = sign === '|' || sign === '|&' || (sign === '\n' && wasPiped);
    this.#isFed = this.#isPiped || this.#group.isFed;
    if (sign === '\n') this.#readDocuments();
  }

  /** Parses `(`, which begins a group or follows the name of a function. */
  #parenthesis(): void {
    if (this.text[this.source.at + 1] === '(') refuse('`((…))`');
    const isFirst = this.#words.length === 0 && !this.#isRedirected;
    const name = this.word?.isBare ? this.word.pattern : undefined;
    if (isFirst && name !== undefined && name !== '!' && PREFIXES.test(name)) this.#endWord(0);
    if (this.#group.stage === 'pattern' && !this.word) this.source.at++;
    else if (this.#isInCase()) refuse('parentheses in a pattern of `case`');
    else if (this.#words.length === 0 && !this.word && !this.#isRedirected) {
      this.source.at++;
      this.#begin(')');
    } else this.#function(isFirst ? name : this.word ? undefined : this.#words[0]?.text);
  }

  #function(name: string | undefined): void {
    const isName = name !== undefined && FUNCTION_NAME.test(name) && this.#words.length < 2 && !this.#isRedirected;
    if (!isName || !this.found(EMPTY_PARENTHESES)) refuse('parentheses inside of a command');
    this.#endCommand();
    this.#isBody = true;
    this.#isFed = this.#group.isFed;
  }

  #isInCase(): boolean {
    return this.#group.stage !== undefined && this.#group.stage !== 'commands';
  }

  /** Parses a separator in the parts of `case` that are not commands, such as the patterns. */
  #separatorInCase(sign: string): void {
    const { stage } = this.#group;
    if (stage === 'pattern end' && sign === ')') {
      this.#group.stage = 'commands';
      this.#isFed = this.#group.isFed;
    } else if (stage === 'pattern end' && sign === '|') this.#group.stage = 'pattern';
    else if (sign !== '\n' || (stage !== 'in' && stage !== 'pattern') || this.#documents.length > 0)
      refuse('`case` with other signs than patterns');
  }

  #wordInCase(word: PartialWord): void {
    const group = this.#group;
    if (group.stage === 'subject') {
      this.#words.push(...this.#wordsOf(word));
      group.stage = 'in';
    } else if (group.stage === 'in' && word.isBare && word.pattern === 'in') {
      this.#endCommand();
      group.stage = 'pattern';
    } else if (group.stage === 'pattern' && word.isBare && word.pattern === 'esac') this.#end('esac');
    else if (group.stage === 'pattern') group.stage = 'pattern end';
    else refuse('`case` with other words than patterns');
  }

  #begin(end: string, stage?: Group['stage']): void {
    if (this.#groups.length > MAX_GROUPS) refuse(`more than ${MAX_GROUPS} groups in each other`);
    this.#isFed ||= this.#isBody;
    this.#isBody = false;
    this.#groups.push({ end, isFed: this.#isFed, from: this.source.commands.length, ...(stage && { stage }) });
  }

  #end(end: string): void {
    if (this.#group.end !== end) refuse(`\`${end}\` that ends nothing`);
    this.#ended = this.#groups.pop();
  }

  #close(): void {
    if (this.#groups.length === 1 && this.#options.end === ')') this.#isOver = true;
    else this.#end(')');
  }

  /** If the text is a reserved word at this place, handles it and returns true. If it is an ordinary word, returns false. */
  #readReserved(text: string): boolean {
    const end = GROUPS.get(text);
    if (end === undefined && text !== 'case' && ![GROUP_ENDS, PREFIXES, OWN_GRAMMAR].some((words) => words.test(text))) return false;
    const isFirst = this.#words.length === 0 && !this.#isRedirected;
    if (!isFirst && countKeywords(this.#words) < this.#words.length) return false;
    if (!isFirst) refuse(`\`${text}\` behind a variable or redirection`);
    if (OWN_GRAMMAR.test(text)) refuse(`\`${text}\``);
    if (GROUP_ENDS.test(text)) this.#end(text);
    else if (text === 'case') this.#begin('esac', 'subject');
    else if (end !== undefined) this.#begin(end);
    if (text === 'for' || text === 'case') this.#words.push({ text, isComputed: false });
    this.#isFor = text === 'for';
    return true;
  }

  /** Expands a word. Also analyzes a quoted substitution, since bash may run it in arithmetic: `x='a[$(…)]'; echo $((x))`. */
  #wordsOf(word: PartialWord): readonly ShellWord[] {
    const words = expandWord(word);
    if (!words) refuse('a long word with wildcards or braces');
    if (words.length > 1) this.source.budget.words -= words.length;
    if (this.source.budget.words < 0) refuse('braces that make too many words');
    for (const { text } of words) if (text.includes('$(') || text.includes('`')) this.pushText(text);
    const { place } = this.source;
    return words.map((one) => (place !== undefined && one.text.includes(place) ? { ...one, isComputed: true } : one));
  }

  #endWord(length: number): void {
    this.source.at += length;
    const word = this.word;
    if (!word) return;
    this.word = undefined;
    this.#ended = undefined;
    if (this.#isSplit) refuse('words behind `&>`');
    if (this.#isInCase()) this.#wordInCase(word);
    else if (!word.isBare || !this.#readReserved(word.pattern)) {
      if (this.#isFor && this.#words.length === 2 && !(word.isBare && word.pattern === 'in')) refuse('`for NAME` without `in`');
      if (word.isBare && /^(?:\[\[|\]\])$/.test(word.pattern)) this.#isInTest = word.pattern === '[[';
      for (const one of this.#wordsOf(word)) this.#words.push(one);
    }
  }

  #endCommand(): void {
    this.#endWord(0);
    if (this.#words.length + this.#files.length > 0)
      this.source.commands.push({ words: this.#words, files: this.#files, isFed: this.#isFed });
    if (this.source.commands.length > MAX_COMMANDS) refuse(`more than ${MAX_COMMANDS} commands`);
    this.#words = [];
    this.#files = [];
    this.#isFed = false;
    this.#isRedirected = false;
    this.#isSplit = false;
    this.#isFor = false;
    this.#ended = undefined;
  }
}
