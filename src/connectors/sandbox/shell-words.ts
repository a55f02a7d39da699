import { AtmoError } from '../../core/errors.ts';

/** A text, the current position, and the commands found so far. */
export interface ShellParserState {
  readonly text: string;
  at: number;
  readonly commands: ShellCommand[];
  /** Placeholder that another program replaces by a word before the shell reads the text, such as `{}` of find. */
  readonly place: string | undefined;
  /** Number of words that brace expansion may still produce. */
  readonly budget: { words: number };
}

/** Unquoted characters without a special meaning. */
const PLAIN_CHARACTERS = /[\w./:=,@%+~^*?{}!\]-]+/y;
const PLAIN_IN_QUOTES = /[^"`$\\]+/y;
const PARAMETER = /\$(?:[A-Za-z_]\w*|[\d@*#?$!-]|\{#?\w+\}|\{[@*#?$!-]\}|\{\w+(?:[:%#/+=?^,-][\w./:@%+=,*?#^ -]*)\})/y;
const ARITHMETIC = /[\w \t+*/%<>=!&|^~?:,.-]+/y;
const SUBSCRIPT = /\[[\w$@*!^?.-]*\]/y;
const BRACKETS = /\[+/y;
const INVISIBLE = /[\s\p{Z}\p{Cc}\p{Cf}]/u;
/** Characters that a backslash escapes in double quotes (POSIX, 2.2.3). */
const ESCAPED_IN_QUOTES = /[$`"\\\n]/;

/** Parses the parts of words: quotes, and constructs that begin with `$`. */
export abstract class ShellWordParser {
  protected readonly source: ShellParserState;
  protected readonly text: string;
  protected word: PartialWord | undefined;

  constructor(source: ShellParserState) {
    this.source = source;
    this.text = source.text;
  }

  /** Skips the first `head` characters of a substitution, such as `$(`, and parses the rest of the substitution as a separate text. */
  protected abstract nested(head: number, isFed: boolean): void;

  /** Parses the text between backquotes as a separate text. */
  protected abstract inner(text: string): void;

  protected get sign(): string {
    return this.text[this.source.at] ?? '';
  }

  protected isAt(text: string): boolean {
    return this.text.startsWith(text, this.source.at);
  }

  /** Matches an expression at the current position and moves behind the match. If nothing matches, returns undefined. */
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
    this.word.pattern += isQuoted ? text.replaceAll(PATTERN_CHARACTERS, '\\$&') : text;
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

  /** Parses the whole text as the body of a here-document, in which double quotes have no meaning. */
  readBody(): void {
    while (this.sign !== '') {
      if (this.isAt('\\\n')) refuse('a backslash at the end of a line of a here-document');
      if (this.sign === '"') this.source.at++;
      else if (this.isAt('\\"')) this.source.at += 2;
      else this.#partOfQuoted();
    }
  }

  /** Returns `sign` and moves behind it. Refuses rare white space and control characters: their meaning depends on shell and locale. */
  #oneSign(sign: string): string {
    if (INVISIBLE.test(sign)) refuse('a blank or control character that is none of a blank, a tab and a new line');
    this.source.at++;
    return sign;
  }

  #quoted(): void {
    this.source.at++;
    this.add(this.#upTo("'"), { isQuoted: true });
  }

  /** Returns the text before the next `sign`, and moves behind that `sign`. */
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

  /** Parses a backslash and the next character. A backslash before a line end joins two lines; it is refused within a word. */
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

  /** Parses `$'…'`. Bash replaces escapes in it, but `sh` does not, so the word counts as computed. */
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

  /** Parses `[`. After a variable's name it begins a subscript of bash, which has another grammar. */
  #bracket(): void {
    const isSubscript = this.word?.isName === true;
    const text = this.found(isSubscript ? SUBSCRIPT : BRACKETS)?.[0];
    if (text === undefined) refuse('`name[…]` with other signs than letters and numbers');
    this.add(text);
  }
}

/** Ends the parsing: throws an error that names the construct. */
export function refuse(construct: string): never {
  throw new AtmoError('RULE_BLOCKED', construct);
}

/** A word in a shell text, without its quotes. */
export interface ShellWord {
  readonly text: string;
  /** True if the shell expands a part of the word at run time. */
  readonly isComputed: boolean;
  /** The word as a pattern, if it has wildcards. Escaped characters are not wildcards. */
  readonly wildcard?: string;
}

/** A command in a shell text. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  readonly files: readonly ShellWord[];
  /** True if the command's input comes from a pipe, a here-document or a file. */
  readonly isFed: boolean;
  /** True for the words of comments, here-documents and quoted texts. They can break a rule, but never count as computed. */
  readonly isText?: true;
}

/** A word that is still being parsed. */
export interface PartialWord {
  /** The word with its wildcards and braces. Quoted wildcards and braces are escaped by a backslash. */
  pattern: string;
  isComputed: boolean;
  /** True while no part of the word is quoted or expanded. */
  isBare: boolean;
  /** True while the word has only letters, numbers and `_`. */
  isName: boolean;
}

/** Maximum number of words into which the braces of a word may expand. With more, the word stays unexpanded. */
const MAX_BRACED = 64;
/** Maximum length of a parsed word with wildcards or braces, in characters. */
const MAX_PATTERN = 1_024;
const PATTERN_CHARACTERS = /[\\*?[\]{},]/g;
const SPECIAL = /[\\*?[{]/;
const PATTERN = /[*?[{]/;
/** Matches a reserved word before a command, or an assignment such as `X=1`. */
const KEYWORDS = /^(?:if|then|else|elif|do|while|until|!|\{|[A-Za-z_]\w*\+?=.*)$/s;

/** Returns the number of reserved words and assignments before the program. */
export function countKeywords(words: readonly ShellWord[]): number {
  const first = words.findIndex(({ text }) => !KEYWORDS.test(text));
  return first === -1 ? words.length : first;
}

/** Returns a pattern without the backslashes of its escapes. If no file matches the pattern, the shell uses this text. */
function unescapePattern(pattern: string): string {
  return pattern.replaceAll(/\\(.)/gs, '$1');
}

/** Returns the words into which the braces of a word expand. Wildcards stay. If the word is too long for this, returns undefined. */
export function expandWord({ pattern, isComputed }: PartialWord): readonly ShellWord[] | undefined {
  if (!SPECIAL.test(pattern)) return [{ text: pattern, isComputed }];
  const bare = pattern.replaceAll(/\\./gs, '');
  if (!PATTERN.test(bare)) return [{ text: unescapePattern(pattern), isComputed }];
  if (pattern.length > MAX_PATTERN) return undefined;
  const isDeep = bare.split('{').length > MAX_BRACED;
  const patterns = isDeep ? [pattern] : expandBraces(pattern);
  const isTooMany = isDeep || patterns.length > MAX_BRACED;
  // If one of the words is empty, all count as computed: a shell drops an empty word, and the next word takes its place.
  const isUnsure = isComputed || isTooMany || hasAmbiguousBraces(bare) || (patterns.length > 1 && patterns.includes(''));
  return (isTooMany ? [pattern] : patterns).map((one) => {
    const word = { text: unescapePattern(one), isComputed: isUnsure };
    return hasWildcards(one.replaceAll(/\\./gs, '')) ? { ...word, wildcard: one } : word;
  });
}

/**
 * Returns the commands that a text may contain. Each part between separators counts as a command; quotes are ignored. Used for comments,
 * here-documents and quoted texts, in addition to the commands that the parser finds.
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

/** Expands braces: `a{b,c}d` becomes `abd` and `acd`. */
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

/** Returns the texts between the commas of the brace at `open`; undefined if the brace has no commas. */
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

/** Returns true for braces that shells expand differently: ranges such as `{1..9}`, and unbalanced braces with commas. */
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
