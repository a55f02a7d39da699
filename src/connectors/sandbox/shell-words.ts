import { AtmoError } from '../../core/errors.ts';

/** A text, the place in it, and what was read. */
export interface ShellParserState {
  readonly text: string;
  at: number;
  readonly commands: ShellCommand[];
  /** Stands for a word that the caller of the shell puts there. */
  readonly place: string | undefined;
  /** How many more words braces may make. */
  readonly budget: { words: number };
}

/** Bare signs that mean nothing but themselves. */
const PLAIN_CHARACTERS = /[\w./:=,@%+~^*?{}!\]-]+/y;
const PLAIN_IN_QUOTES = /[^"`$\\]+/y;
const PARAMETER = /\$(?:[A-Za-z_]\w*|[\d@*#?$!-]|\{#?\w+\}|\{[@*#?$!-]\}|\{\w+(?:[:%#/+=?^,-][\w./:@%+=,*?#^ -]*)\})/y;
const ARITHMETIC = /[\w \t+*/%<>=!&|^~?:,.-]+/y;
const SUBSCRIPT = /\[[\w$@*!^?.-]*\]/y;
const BRACKETS = /\[+/y;
const INVISIBLE = /[\s\p{Z}\p{Cc}\p{Cf}]/u;
/** Behind a backslash in double quotes (POSIX, 2.2.3). */
const ESCAPED_IN_QUOTES = /[$`"\\\n]/;

/** Reads the parts of words: quotes, and all that begins with `$`. */
export abstract class ShellWordParser {
  protected readonly source: ShellParserState;
  protected readonly text: string;
  protected word: PartialWord | undefined;

  constructor(source: ShellParserState) {
    this.source = source;
    this.text = source.text;
  }

  /** Reads the substitution that begins at this place with a head of that many signs: what stands inside is a text of its own. */
  protected abstract nested(head: number, isFed: boolean): void;

  /** Reads a text that stands in this one. */
  protected abstract inner(text: string): void;

  protected get sign(): string {
    return this.text[this.source.at] ?? '';
  }

  protected isAt(text: string): boolean {
    return this.text.startsWith(text, this.source.at);
  }

  /** What the expression finds at this place; the place is behind it then. */
  protected found(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.source.at;
    const found = expression.exec(this.text) ?? undefined;
    if (found) this.source.at += found[0].length;
    return found;
  }

  protected partOfWord(sign: string): void {
    if (sign === "'") this.#quoted();
    else if (sign === '"') this.#doubleQuoted();
    else if (sign === '\\') this.#escaped();
    else if (sign === '`') this.#backquoted();
    else if (sign === '$') this.#dollar();
    else if (sign === '[') this.#bracket();
    else this.add(this.found(PLAIN_CHARACTERS)?.[0] ?? this.#oneSign(sign));
  }

  protected add(
    text: string,
    { isComputed = false, isQuoted = false }: { readonly isComputed?: boolean; readonly isQuoted?: boolean } = {},
  ): void {
    this.word ??= { pattern: '', isComputed: false, isBare: true, isName: true };
    this.word.pattern += isQuoted ? escapePattern(text) : text;
    this.word.isComputed ||= isComputed;
    this.word.isBare &&= !isQuoted && !isComputed;
    this.word.isName &&= this.word.isBare && /^\w+$/.test(text);
  }

  protected pushText(text: string): void {
    for (const command of approximateCommands(text)) this.source.commands.push(command);
  }

  protected endOfLine(from: number): number {
    const end = this.text.indexOf('\n', from);
    return end === -1 ? this.text.length : end;
  }

  /** Reads all of the text as the body of a here-document, in which double quotes mean nothing. */
  readBody(): void {
    while (this.sign !== '') {
      if (this.isAt('\\\n')) refuse('a backslash at the end of a line of a here-document');
      if (this.sign === '"') this.source.at++;
      else if (this.isAt('\\"')) this.source.at += 2;
      else this.#partOfQuoted();
    }
  }

  /** Which signs besides the blank and the tab are blanks depends on the shell and its language. */
  #oneSign(sign: string): string {
    if (INVISIBLE.test(sign)) refuse('a blank or control character that is none of a blank, a tab and a new line');
    this.source.at++;
    return sign;
  }

  #quoted(): void {
    this.source.at++;
    this.add(this.#upTo("'"), { isQuoted: true });
  }

  /** The text up to the sign, which the place is behind then. */
  #upTo(sign: string): string {
    const from = this.source.at;
    const end = this.text.indexOf(sign, from);
    if (end === -1) refuse(`${sign} that nothing closes`);
    this.source.at = end + 1;
    return this.text.slice(from, end);
  }

  #doubleQuoted(): void {
    this.add('', { isQuoted: true });
    this.source.at++;
    while (this.sign !== '"') {
      if (this.sign === '') refuse('" that nothing closes');
      this.#partOfQuoted();
    }
    this.source.at++;
  }

  #partOfQuoted(): void {
    const sign = this.sign;
    const next = this.text[this.source.at + 1] ?? '';
    if (sign === '\\' && ESCAPED_IN_QUOTES.test(next)) this.#escaped();
    else if (sign === '`') this.#backquoted();
    else if (sign === '$' && next !== "'" && next !== '"') this.#dollar();
    else {
      const text = this.found(PLAIN_IN_QUOTES)?.[0] ?? sign;
      if (text === sign && (sign === '\\' || sign === '$')) this.source.at++;
      this.add(text, { isQuoted: true });
    }
  }

  /** A line that goes on in the next one is no word of its own; between two signs it could join them. */
  #escaped(): void {
    const { at } = this.source;
    const sign = this.text[at + 1];
    if (sign === undefined) refuse('a backslash at the end');
    const isInside = /[^ \t\n]/.test(this.text[at - 1] ?? '') && /[^ \t\n]/.test(this.text[at + 2] ?? '');
    if (sign === '\n' && (isInside || this.text[at + 2] === '#')) refuse('a line that is broken inside of a word');
    if (sign !== '\n') this.add(sign, { isQuoted: true });
    this.source.at += 2;
  }

  #dollar(): void {
    const isQuoted = true;
    if (this.isAt('$((')) this.#arithmetic();
    else if (this.isAt('$(')) this.nested(2, false);
    else if (this.isAt("$'")) this.#ansiQuoted();
    else if (this.isAt('$[')) refuse('`$[…]`; write `$((…))`');
    else {
      const parameter = this.found(PARAMETER)?.[0];
      if (parameter === undefined && this.isAt('${')) refuse(`\`\${…}\` with more than a name and plain text`);
      if (parameter === undefined) this.source.at++;
      this.add(parameter ?? '$', { isQuoted, isComputed: true });
    }
  }

  /** Bash knows a backslash in it, `sh` does not. */
  #ansiQuoted(): void {
    this.source.at += 2;
    const text = this.#upTo("'");
    if (text.endsWith('\\')) refuse("`$'…'` with `\\'`");
    this.add(text, { isQuoted: true, isComputed: true });
  }

  #arithmetic(): void {
    this.source.at += 3;
    for (let depth = 0; !(depth === 0 && this.isAt('))')); ) {
      if (this.sign === '(') depth++;
      else if (this.sign === ')') depth--;
      if (depth < 0 || this.sign === '') refuse('`$((…` that `))` does not close');
      if (this.sign === '(' || this.sign === ')') this.source.at++;
      else if (this.sign === '$') this.#dollar();
      else if (!this.found(ARITHMETIC)) refuse('`$((…))` with other signs than numbers, names and operators');
    }
    this.source.at += 2;
    this.add('', { isQuoted: true, isComputed: true });
  }

  #backquoted(): void {
    this.source.at++;
    const text = this.#upTo('`');
    if (/[\\#]/.test(text)) refuse('backquotes with a backslash or `#` in them; write `$(…)`');
    this.inner(text);
    this.add('', { isQuoted: true, isComputed: true });
  }

  /** `name[` begins a subscript for bash, in which other signs mean other things. */
  #bracket(): void {
    const isSubscript = this.word?.isName === true;
    const text = this.found(isSubscript ? SUBSCRIPT : BRACKETS)?.[0];
    if (text === undefined) refuse('`name[…]` with other signs than letters and numbers');
    this.add(text);
  }
}

/** Ends the reading. */
export function refuse(construct: string): never {
  throw new AtmoError('RULE_BLOCKED', construct);
}

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
  /** It stands where a shell takes it for text: it can break a rule, and nothing that it computes counts. */
  readonly isText?: true;
}

/** A word as it is read. */
export interface PartialWord {
  /** As `wildcard` of a word, with braces. */
  pattern: string;
  isComputed: boolean;
  /** No part of it is quoted or computed. */
  isBare: boolean;
  /** It is letters, numbers and `_` so far. */
  isName: boolean;
}

/** More words than these from one with braces are not looked at one by one. */
const MAX_BRACED = 64;
/** A longer word with wildcards or braces is not read. */
const MAX_PATTERN = 1_024;
const PATTERN_CHARACTERS = /[\\*?[\]{},]/g;
const SPECIAL = /[\\*?[{]/;
const PATTERN = /[*?[{]/;
/** Words of the shell itself that `countKeywords` passes over, and variables of the command. */
const KEYWORDS = /^(?:if|then|else|elif|do|while|until|!|\{|[A-Za-z_]\w*\+?=.*)$/s;

/** How many words of the shell, and of variables, are in front of the program. */
export function countKeywords(words: readonly ShellWord[]): number {
  const first = words.findIndex(({ text }) => !KEYWORDS.test(text));
  return first === -1 ? words.length : first;
}

/** The text so that no sign of it is one of a pattern. */
function escapePattern(text: string): string {
  return text.replaceAll(PATTERN_CHARACTERS, '\\$&');
}

/** A text with wildcards as the text that it is where it fits nothing. */
export function unescapePattern(pattern: string): string {
  return pattern.replaceAll(/\\(.)/gs, '$1');
}

/** The words that the shell makes of one: those of its braces, of which each may have wildcards. Undefined for one that is too long. */
export function expandWord({ pattern, isComputed }: PartialWord): readonly ShellWord[] | undefined {
  if (!SPECIAL.test(pattern)) return [{ text: pattern, isComputed }];
  const bare = pattern.replaceAll(/\\./gs, '');
  if (!PATTERN.test(bare)) return [{ text: unescapePattern(pattern), isComputed }];
  if (pattern.length > MAX_PATTERN) return undefined;
  const isDeep = bare.split('{').length > MAX_BRACED;
  const patterns = isDeep ? [pattern] : expandBraces(pattern);
  const isTooMany = isDeep || patterns.length > MAX_BRACED;
  // A shell leaves out an empty word, so that the next one takes its place.
  const isUnsure = isComputed || isTooMany || hasAmbiguousBraces(bare) || (patterns.length > 1 && patterns.includes(''));
  return (isTooMany ? [pattern] : patterns).map((one) => {
    const word = { text: unescapePattern(one), isComputed: isUnsure };
    return hasWildcards(one.replaceAll(/\\./gs, '')) ? { ...word, wildcard: one } : word;
  });
}

/**
 * The commands that a text would hold if each line of it were run, read roughly: quotes are passed over. For comments, here-documents
 * and what stands in quotes: this can only add commands to those that are read exactly.
 */
export function approximateCommands(text: string): readonly ShellCommand[] {
  return text.split(/[;&|\n()`{}]+/).flatMap((part) => {
    const texts = part
      .replaceAll(/['"\\]/g, '')
      .split(/[\s<>$]+/)
      .filter((word) => word !== '');
    const words = texts.map((word) => ({ text: word, isComputed: false }));
    return words.length > 0 ? [{ words, files: [], isFed: false, isText: true as const }] : [];
  });
}

/** `a{b,c}d` is `abd` and `acd`. */
function expandBraces(pattern: string): readonly string[] {
  for (let open = nextCharacter(pattern, '{', 0); open !== -1; open = nextCharacter(pattern, '{', open + 1)) {
    const parts = braceAlternatives(pattern, open);
    if (!parts) continue;
    const [head, tail] = [pattern.slice(0, open), pattern.slice(parts.end + 1)];
    const all: string[] = [];
    for (const part of parts.texts) if (all.length <= MAX_BRACED) all.push(...expandBraces(head + part + tail));
    return all;
  }
  return [pattern];
}

/** What stands between the commas of a brace; undefined for one that is only a sign. */
function braceAlternatives(pattern: string, open: number): { readonly texts: readonly string[]; readonly end: number } | undefined {
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

function nextCharacter(pattern: string, sign: string, from: number): number {
  for (let at = from; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++;
    else if (pattern[at] === sign) return at;
  }
  return -1;
}

/** For braces that shells read in ways of their own: a range, which is many words, and braces that do not fit together around commas. */
function hasAmbiguousBraces(bare: string): boolean {
  const hasComma = bare.includes(',');
  const commas: number[] = [];
  let before = '';
  for (const sign of bare) {
    if (sign === '{') commas.push(0);
    else if (sign === '}' && !commas.pop() && hasComma) return true;
    else if (sign === ',' && commas.length > 0) commas[commas.length - 1] = 1;
    else if (sign === '.' && before === '.' && commas.length > 0) return true;
    before = sign;
  }
  return hasComma && commas.length > 0;
}

function hasWildcards(bare: string): boolean {
  const bracket = bare.indexOf('[');
  return /[*?]/.test(bare) || (bracket !== -1 && bare.includes(']', bracket + 1));
}
