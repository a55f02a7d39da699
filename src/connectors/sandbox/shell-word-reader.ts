import { AtmoError } from '../../core/errors.ts';
import { type OpenWord, roughCommands, type ShellCommand, withEscapes } from './shell-words.ts';

/** A text, the place in it, and what was read. */
export interface ShellSource {
  readonly text: string;
  at: number;
  readonly commands: ShellCommand[];
  /** Stands for a word that the caller of the shell puts there. */
  readonly place: string | undefined;
  /** How many more words braces may make. */
  readonly budget: { words: number };
}

/** Bare signs that mean nothing but themselves. */
const PLAIN = /[\w./:=,@%+~^*?{}!\]-]+/y;
const PLAIN_IN_QUOTES = /[^"`$\\]+/y;
const PARAMETER = /\$(?:[A-Za-z_]\w*|[\d@*#?$!-]|\{#?\w+\}|\{[@*#?$!-]\}|\{\w+(?:[:%#/+=?^,-][\w./:@%+=,*?#^ -]*)\})/y;
const ARITHMETIC = /[\w \t+*/%<>=!&|^~?:,.-]+/y;
const SUBSCRIPT = /\[[\w$@*!^?.-]*\]/y;
const BRACKETS = /\[+/y;
const INVISIBLE = /[\s\p{Z}\p{Cc}\p{Cf}]/u;
/** Behind a backslash in double quotes (POSIX, 2.2.3). */
const ESCAPED_IN_QUOTES = /[$`"\\\n]/;

/** Reads the parts of words: quotes, and all that begins with `$`. */
export abstract class ShellWordReader {
  protected readonly source: ShellSource;
  protected readonly text: string;
  protected word: OpenWord | undefined;

  constructor(source: ShellSource) {
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
    else this.add(this.found(PLAIN)?.[0] ?? this.#oneSign(sign));
  }

  protected add(
    text: string,
    { isComputed = false, isQuoted = false }: { readonly isComputed?: boolean; readonly isQuoted?: boolean } = {},
  ): void {
    this.word ??= { pattern: '', isComputed: false, isBare: true, isName: true };
    this.word.pattern += isQuoted ? withEscapes(text) : text;
    this.word.isComputed ||= isComputed;
    this.word.isBare &&= !isQuoted && !isComputed;
    this.word.isName &&= this.word.isBare && /^\w+$/.test(text);
  }

  protected pushText(text: string): void {
    for (const command of roughCommands(text)) this.source.commands.push(command);
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
