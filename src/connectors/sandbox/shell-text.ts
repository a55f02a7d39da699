/** A word of a shell's text, without its quotes. */
export interface ShellWord {
  readonly text: string;
  /** The shell works out a part of it as it runs. */
  readonly isComputed: boolean;
  /** The word with its wildcards, where it has some: a sign behind a backslash is none. */
  readonly wildcard?: string;
}

/** One command of a shell's text. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  /** The files that its input comes from and its output goes to. */
  readonly files: readonly ShellWord[];
  /** Its input comes from a pipe, a here-document or a file. */
  readonly isFed: boolean;
}

/** Words of the shell that begin a group of commands, and those that end it: all of the group reads what is fed to it. */
const GROUPS: ReadonlyMap<string, string> = new Map([
  ['while', 'done'],
  ['until', 'done'],
  ['for', 'done'],
  ['select', 'done'],
  ['if', 'fi'],
  ['case', 'esac'],
  ['{', '}'],
]);
/** Words of the shell itself in front of a command, and variables of the command. */
const KEYWORDS = /^(if|then|else|elif|do|while|until|coproc|!|\{|[A-Za-z_]\w*\+?=.*)$/s;
/** More words than these from one with braces are not looked at one by one. */
const MAX_BRACED = 64;
/** Substitutions in substitutions: what is further inside counts as computed. */
const MAX_DEPTH = 16;
const SIGNS_OF_PATTERNS = /[\\*?[\]{},]/g;
/** Behind a backslash in double quotes (POSIX, 2.2.3). */
const ESCAPED_IN_QUOTES = /[$`"\\\n]/;

/**
 * The commands of a text, those inside of substitutions too, as far as it can be known before it runs (POSIX, 2.2 to 2.10, and the
 * braces of bash). `isFed`: what is around the text feeds it.
 */
export function readShell(text: string, { isFed } = { isFed: false }): readonly ShellCommand[] {
  return new Reader(text, { isFed, depth: 0 }).commands;
}

/** How many words of the shell, and of variables, are in front of the program. */
export function countKeywords(words: readonly ShellWord[]): number {
  const first = words.findIndex(({ text }) => !KEYWORDS.test(text));
  return first === -1 ? words.length : first;
}

interface Group {
  readonly end: string;
  readonly isFed: boolean;
  /** Place of its first command. */
  readonly from: number;
  /** The patterns of a branch of `case` come next. */
  awaitsPattern: boolean;
}

interface OpenWord {
  /** As `wildcard` of a word, with braces. */
  pattern: string;
  isComputed: boolean;
  isBare: boolean;
}

/** Reads a text once, character by character. */
class Reader {
  readonly commands: ShellCommand[] = [];
  readonly #text: string;
  /** Texts that this one is inside of. */
  readonly #depth: number;
  #at = 0;
  #words: ShellWord[] = [];
  #files: ShellWord[] = [];
  #word: OpenWord | undefined;
  #isFed: boolean;
  /** A pipe was the last sign: a new line does not end it. */
  #isPiped = false;
  /** The groups around this place, the outermost first. */
  readonly #groups: Group[];
  /** The group that ended right before this place: what feeds it stands behind it. */
  #ended: Group | undefined;
  /** Here-documents that begin with the next line. */
  #documents: { readonly end: string; readonly isQuoted: boolean; readonly isIndented: boolean }[] = [];

  constructor(text: string, { isFed, depth }: { readonly isFed: boolean; readonly depth: number }) {
    this.#text = text;
    this.#depth = depth;
    this.#isFed = isFed;
    this.#groups = [{ end: '', isFed, from: 0, awaitsPattern: false }];
    while (this.#at < text.length) this.#step();
    this.#endCommand();
  }

  #step(): void {
    const rest = this.#text.slice(this.#at, this.#at + 3);
    const sign = rest[0] ?? '';
    if (sign === "'") this.#quoted();
    else if (sign === '"') this.#doubleQuoted();
    else if (sign === '\\') this.#escaped();
    else if (/^(\$\(|<\(|>\()/.test(rest)) this.#substitution(2, ')');
    else if (sign === '`') this.#substitution(1, '`');
    else if (sign === '$') this.#take(rest.startsWith('${') ? 2 : 1, { isComputed: true });
    else if (/^&?[<>]/.test(rest)) this.#redirection(rest);
    else if (/[;&|\n()]/.test(sign)) this.#separator(rest);
    else if (/\s/.test(sign)) this.#endWord(1);
    else if (sign === '#' && !this.#word) this.#at = this.#endOfLine();
    else this.#take(1);
  }

  #endOfLine(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end === -1 ? this.#text.length : end;
  }

  #quoted(): void {
    const end = this.#text.indexOf("'", this.#at + 1);
    const last = end === -1 ? this.#text.length : end;
    this.#add(this.#text.slice(this.#at + 1, last), { isQuoted: true });
    this.#at = last + 1;
  }

  #doubleQuoted(): void {
    this.#add('', { isQuoted: true });
    this.#at++;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"') {
      if (this.#text[this.#at] === '\\' && ESCAPED_IN_QUOTES.test(this.#text[this.#at + 1] ?? '')) this.#escaped();
      else if (this.#text.startsWith('$(', this.#at)) this.#substitution(2, ')');
      else if (this.#text[this.#at] === '`') this.#substitution(1, '`');
      else this.#take(1, { isQuoted: true, isComputed: this.#text[this.#at] === '$' });
    }
    this.#at++;
  }

  /** A line that goes on in the next one is no word of its own. */
  #escaped(): void {
    const sign = this.#text[this.#at + 1] ?? '';
    if (sign !== '\n') this.#add(sign, { isQuoted: true });
    this.#at += 2;
  }

  /** What stands inside is a text of its own; numbers are only computed. */
  #substitution(head: number, end: ')' | '`'): void {
    const from = this.#at + head;
    const to = this.#endOfSubstitution(from, end);
    const inside = this.#text.slice(from, to);
    const isFed = this.#isFed || this.#text.startsWith('>(', this.#at);
    const isArithmetic = this.#text.startsWith('$((', this.#at) && this.#endOfSubstitution(from + 1, ')') === to - 1;
    this.commands.push(...(isArithmetic ? this.#substitutedIn(inside) : this.#inner(inside, isFed)));
    this.#add('', { isComputed: true });
    this.#at = to + 1;
  }

  #inner(text: string, isFed: boolean): readonly ShellCommand[] {
    if (this.#depth >= MAX_DEPTH) return [{ words: [{ text: '', isComputed: true }], files: [], isFed }];
    return new Reader(text, { isFed, depth: this.#depth + 1 }).commands;
  }

  /** The commands of the substitutions in a text that is none by itself. */
  #substitutedIn(text: string): readonly ShellCommand[] {
    return this.#inner(`"${text.replaceAll('"', '')}"`, false).slice(0, this.#depth >= MAX_DEPTH ? 1 : -1);
  }

  /** Signs in quotes end nothing. */
  #endOfSubstitution(from: number, end: ')' | '`'): number {
    let depth = 1;
    let quote = '';
    for (let at = from; at < this.#text.length; at++) {
      const sign = this.#text[at] ?? '';
      if (sign === '\\' && quote !== "'") at++;
      else if (quote !== '') quote = sign === quote ? '' : quote;
      else if (sign === end && --depth === 0) return at;
      else if (end === ')' && sign === '(') depth++;
      else if (end === ')' && (sign === "'" || sign === '"')) quote = sign;
    }
    return this.#text.length;
  }

  /** The file or text behind the sign is no word of the command. */
  #redirection(rest: string): void {
    // A number in front of it names the file that is meant.
    if (this.#word && /^\d+$/.test(this.#word.pattern)) this.#word = undefined;
    this.#endWord(0);
    const sign = /^(&>>?|<<<|<<-?|<[>&]?|>[>&|]?)/.exec(rest)?.[0] ?? '';
    this.#at += sign.length;
    if (sign.startsWith('<')) this.#feed();
    while (/[ \t]/.test(this.#text[this.#at] ?? '')) this.#at++;
    const words = this.#words;
    this.#words = [];
    const from = this.#at;
    while (this.#at < this.#text.length && !/[\s;&|<>()]/.test(this.#text[this.#at] ?? '')) this.#step();
    const target = this.#word;
    this.#word = undefined;
    this.#words = words;
    if (!target) return;
    if (sign === '<<' || sign === '<<-') {
      const isQuoted = /['"\\]/.test(this.#text.slice(from, this.#at));
      this.#documents.push({ end: withoutEscapes(target.pattern), isQuoted, isIndented: sign === '<<-' });
    } else this.#files.push(...wordsOf(target));
  }

  #feed(): void {
    this.#isFed = true;
    if (!this.#ended) return;
    const { from } = this.#ended;
    this.#ended = undefined;
    for (const [index, command] of this.commands.entries()) if (index >= from) this.commands[index] = { ...command, isFed: true };
  }

  /** The lines of a here-document are no commands, but what they substitute is. */
  #readDocuments(): void {
    for (const { end, isQuoted, isIndented } of this.#documents.splice(0)) {
      const from = this.#at;
      let to = from;
      for (let isOver = false; !isOver && this.#at < this.#text.length; ) {
        const line = this.#text.slice(this.#at, this.#endOfLine());
        isOver = (isIndented ? line.replace(/^\t+/, '') : line) === end;
        if (isOver) to = this.#at;
        this.#at = this.#endOfLine() + 1;
        if (!isOver) to = this.#at;
      }
      if (!isQuoted) this.commands.push(...this.#substitutedIn(this.#text.slice(from, to)));
    }
  }

  #separator(rest: string): void {
    const sign = rest[0] ?? '';
    this.#endWord(0);
    this.#at += /^(\|\||&&|\|&|;;)/.test(rest) ? 2 : 1;
    if (this.#isInPattern(sign)) return;
    const isEmpty = this.#words.length === 0;
    const isFed = this.#isFed;
    const wasPiped = this.#isPiped && isEmpty;
    this.#endCommand();
    this.#isPiped = (sign === '|' && !rest.startsWith('||')) || (sign === '\n' && wasPiped);
    if (sign === '(') this.#begin(')', isFed);
    else if (sign === ')') this.#end(')');
    else if (rest.startsWith(';;')) this.#awaitPattern();
    this.#isFed = this.#isPiped || this.#isGroupFed();
    if (sign === '\n') this.#readDocuments();
  }

  /** Patterns of `case` are no commands. */
  #isInPattern(sign: string): boolean {
    const group = this.#groups.at(-1);
    if (!group?.awaitsPattern) return false;
    this.#words = [];
    if (sign === ')') group.awaitsPattern = false;
    return true;
  }

  #awaitPattern(): void {
    const group = this.#groups.at(-1);
    if (group?.end === 'esac') group.awaitsPattern = true;
  }

  #isGroupFed(): boolean {
    return this.#groups.at(-1)?.isFed ?? false;
  }

  #begin(end: string, isFed: boolean): void {
    this.#groups.push({ end, isFed, from: this.commands.length, awaitsPattern: false });
  }

  /** What ends another group than the innermost is no end. */
  #end(end: string): void {
    if (this.#groups.at(-1)?.end === end) this.#ended = this.#groups.pop();
  }

  /** A word of the shell counts only bare and where a command begins. */
  #readGroupWord(text: string): void {
    if (text === 'in' && this.#words.length === 2 && this.#words[0]?.text === 'case') this.#awaitPattern();
    if (countKeywords(this.#words) < this.#words.length) return;
    const end = GROUPS.get(text);
    if (end !== undefined) this.#begin(end, this.#isFed);
    else if (this.#words.length === 0) this.#end(text);
  }

  #take(length: number, how: { readonly isComputed?: boolean; readonly isQuoted?: boolean } = {}): void {
    this.#add(this.#text.slice(this.#at, this.#at + length), how);
    this.#at += length;
  }

  #add(text: string, { isComputed = false, isQuoted = false }: { readonly isComputed?: boolean; readonly isQuoted?: boolean }): void {
    this.#word ??= { pattern: '', isComputed: false, isBare: true };
    this.#word.pattern += isQuoted ? text.replaceAll(SIGNS_OF_PATTERNS, '\\$&') : text;
    this.#word.isComputed ||= isComputed;
    this.#word.isBare &&= !isQuoted && !isComputed;
  }

  #endWord(length: number): void {
    this.#at += length;
    const word = this.#word;
    if (!word) return;
    this.#word = undefined;
    this.#ended = undefined;
    if (word.isBare) this.#readGroupWord(word.pattern);
    this.#words.push(...wordsOf(word));
    if (this.#groups.at(-1)?.awaitsPattern) this.#words = [];
  }

  #endCommand(): void {
    this.#endWord(0);
    const command = { words: this.#words, files: this.#files, isFed: this.#isFed };
    if (isCommand(command)) this.commands.push(command);
    this.#words = [];
    this.#files = [];
    this.#isFed = false;
    this.#ended = undefined;
  }
}

function isCommand({ words, files }: ShellCommand): boolean {
  return words.length + files.length > 0;
}

/** The words that the shell makes of one: those of its braces, of which each may have wildcards. */
function wordsOf({ pattern, isComputed }: OpenWord): readonly ShellWord[] {
  const isDeep = pattern.split('{').length > MAX_BRACED;
  const patterns = isDeep ? [pattern] : braced(pattern);
  const isTooMany = isDeep || patterns.length > MAX_BRACED;
  return (isTooMany ? [pattern] : patterns).map((one) => {
    const word = { text: withoutEscapes(one), isComputed: isComputed || isTooMany || hasRange(one) };
    return hasWildcards(one) ? { ...word, wildcard: one } : word;
  });
}

/** `a{b,c}d` is `abd` and `acd`. */
function braced(pattern: string): readonly string[] {
  for (let open = nextSign(pattern, '{', 0); open !== -1; open = nextSign(pattern, '{', open + 1)) {
    const parts = partsBehind(pattern, open);
    if (!parts) continue;
    const [head, tail] = [pattern.slice(0, open), pattern.slice(parts.end + 1)];
    const all: string[] = [];
    for (const part of parts.texts) if (all.length <= MAX_BRACED) all.push(...braced(head + part + tail));
    return all;
  }
  return [pattern];
}

/** What stands between the commas of a brace; undefined for one that is only a sign. */
function partsBehind(pattern: string, open: number): { readonly texts: readonly string[]; readonly end: number } | undefined {
  const texts: string[] = [];
  let from = open + 1;
  let depth = 0;
  for (let at = open + 1; at < pattern.length; at++) {
    const sign = pattern[at];
    if (sign === '\\') at++;
    else if (sign === '{') depth++;
    else if (depth === 0 && (sign === ',' || sign === '}')) {
      texts.push(pattern.slice(from, at));
      from = at + 1;
      if (sign === '}') return texts.length > 1 ? { texts, end: at } : undefined;
    } else if (sign === '}') depth--;
  }
  return undefined;
}

function nextSign(pattern: string, sign: string, from: number): number {
  for (let at = from; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++;
    else if (pattern[at] === sign) return at;
  }
  return -1;
}

/** `{a..z}` is many words. */
function hasRange(pattern: string): boolean {
  return /\{[^{},]+\.\.[^{},]+\}/.test(pattern.replaceAll(/\\./gs, ''));
}

function hasWildcards(pattern: string): boolean {
  return /[*?]|\[.+\]/s.test(pattern.replaceAll(/\\./gs, ''));
}

/** A text with wildcards as the text that it is where it fits nothing. */
function withoutEscapes(pattern: string): string {
  return pattern.replaceAll(/\\(.)/gs, '$1');
}
