import { oncePerText } from '../../core/lifecycle.ts';

/** One word of a text. */
export interface Word {
  /** The word in lower case without diacritics: `kuche` for `Küche`. */
  readonly text: string;
  /** The stem of the word, as it is in the index. */
  readonly stem: string;
  /** The stem for the other spelling of the umlauts: `kuech` for `Küche`. */
  readonly variant?: string;
}

const UMLAUTS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue' };
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', æ: 'ae', œ: 'oe', ł: 'l', đ: 'd', ı: 'i', ð: 'd', þ: 'th' };
/** Character classes of scripts that have no spaces between words, or that attach particles to words. */
const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}ー\\p{sc=Hangul}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
const PIECES = new RegExp(`[${UNSPACED}]+|\\p{N}+|[[\\p{L}\\p{M}]--[${UNSPACED}]]+`, 'gv');
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'v');
/** Maximum length of a text in characters. The rest is ignored: no request is longer, and the end of a description adds nothing. */
const MAX_TEXT = 2_000;
/** Maximum number of cached word forms. They are cached because words repeat. */
const MAX_KNOWN = 8_192;

/** Returns the words of a text in order. A text in a script without spaces is cut into overlapping pairs of characters. */
export function wordsOf(text: string): readonly Word[] {
  const lower = text
    .slice(0, MAX_TEXT)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[’ʼ]/g, "'")
    .replace(/'s(?!\p{L})/gu, '');
  return (lower.match(PIECES) ?? []).flatMap((piece) => (IS_UNSPACED.test(piece) ? characterPairs(piece) : [wordOf(piece)]));
}

/** Returns the words in a name such as `DimmableLight`, with spaces between them. */
export function splitName(name: string): string {
  return name.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
}

/** Returns a word without its diacritics. */
export function withoutMarks(text: string): string {
  const plain = text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
  return /[^\p{ASCII}]/u.test(plain) ? plain.replace(/[ßøæœłđıðþ]/g, (letter) => LETTERS[letter] ?? letter) : plain;
}

const wordOf = oncePerText(makeWord, { maxKept: MAX_KNOWN });

function makeWord(piece: string): Word {
  if (/^[a-z]+$/.test(piece)) return { text: piece, stem: stem(piece) };
  const text = withoutMarks(piece);
  const spelled = withoutMarks(piece.replace(/[äöü]/g, (letter) => UMLAUTS[letter] ?? letter));
  return { text, stem: stem(text), ...(spelled !== text && { variant: stem(spelled) }) };
}

function characterPairs(piece: string): readonly Word[] {
  const characters = [...piece];
  if (characters.length === 1) return [{ text: piece, stem: piece }];
  return characters.slice(1).map((character, index) => {
    const pair = `${characters[index]}${character}`;
    return { text: pair, stem: pair };
  });
}

const VOWEL = /[aeiouy]/;
const DOUBLED = /([bdfgkmnprt])\1$/;
const LONG_ENOUGH = 4;

/**
 * Returns a word without English endings: `dimming`, `dims` and `dimmed` become `dim`. Only words of plain Latin letters change. Words of
 * other languages mostly stay unchanged. If one changes, it changes in queries and documents alike.
 */
export function stem(word: string): string {
  if (word.length < LONG_ENOUGH || !/^[a-z]+$/.test(word)) return word;
  return withoutFinalE(withoutTense(singular(word)));
}

function singular(word: string): string {
  if (/[^aeiou]ies$/.test(word) && word.length > LONG_ENOUGH) return `${word.slice(0, -3)}y`;
  if (/(?:ss|ch|sh|x|zz)es$/.test(word)) return word.slice(0, -2);
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  const [, root] = /^(.{2,}?)(?:ing|(?<!e)ed)$/.exec(word) ?? [];
  if (root === undefined || !VOWEL.test(root) || word.length <= LONG_ENOUGH) return word;
  return root.replace(DOUBLED, '$1');
}

function withoutFinalE(word: string): string {
  return word.length >= LONG_ENOUGH && /[^aeiou]e$/.test(word) ? word.slice(0, -1) : word;
}
