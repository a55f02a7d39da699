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
export interface OpenWord {
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
const SIGNS_OF_PATTERNS = /[\\*?[\]{},]/g;
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
export function withEscapes(text: string): string {
  return text.replaceAll(SIGNS_OF_PATTERNS, '\\$&');
}

/** A text with wildcards as the text that it is where it fits nothing. */
export function withoutEscapes(pattern: string): string {
  return pattern.replaceAll(/\\(.)/gs, '$1');
}

/** The words that the shell makes of one: those of its braces, of which each may have wildcards. Undefined for one that is too long. */
export function wordsOf({ pattern, isComputed }: OpenWord): readonly ShellWord[] | undefined {
  if (!SPECIAL.test(pattern)) return [{ text: pattern, isComputed }];
  const bare = pattern.replaceAll(/\\./gs, '');
  if (!PATTERN.test(bare)) return [{ text: withoutEscapes(pattern), isComputed }];
  if (pattern.length > MAX_PATTERN) return undefined;
  const isDeep = bare.split('{').length > MAX_BRACED;
  const patterns = isDeep ? [pattern] : braced(pattern);
  const isTooMany = isDeep || patterns.length > MAX_BRACED;
  // A shell leaves out an empty word, so that the next one takes its place.
  const isUnsure = isComputed || isTooMany || hasOddBraces(bare) || (patterns.length > 1 && patterns.includes(''));
  return (isTooMany ? [pattern] : patterns).map((one) => {
    const word = { text: withoutEscapes(one), isComputed: isUnsure };
    return hasWildcards(one.replaceAll(/\\./gs, '')) ? { ...word, wildcard: one } : word;
  });
}

/**
 * The commands that a text would hold if each line of it were run, read roughly: quotes are passed over. For comments, here-documents
 * and what stands in quotes: this can only add commands to those that are read exactly.
 */
export function roughCommands(text: string): readonly ShellCommand[] {
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

/** For braces that shells read in ways of their own: a range, which is many words, and braces that do not fit together around commas. */
function hasOddBraces(bare: string): boolean {
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
