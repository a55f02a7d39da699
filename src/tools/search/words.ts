import { oncePerText } from '../../core/lifecycle.ts';

/** One word of a text. */
export interface Word {
  /** Lower case, without marks: `kuche` for `Küche`. */
  readonly text: string;
  /** What the word is found by. */
  readonly stem: string;
  /** The same for the other spelling of its umlauts: `kuech` for `Küche`. */
  readonly variant?: string;
}

const UMLAUTS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue' };
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', æ: 'ae', œ: 'oe', ł: 'l', đ: 'd', ı: 'i', ð: 'd', þ: 'th' };
/** Scripts that are written without spaces, or with particles that hang on the words. */
const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}ー\\p{sc=Hangul}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
const PIECES = new RegExp(`[${UNSPACED}]+|\\p{N}+|[[\\p{L}\\p{M}]--[${UNSPACED}]]+`, 'gv');
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'v');
/** Longer texts are cut: nobody asks that much, and a description's end adds nothing. */
const MAX_TEXT = 2_000;
/** Distinct words of which the forms are kept: the same words come again and again. */
const MAX_KNOWN = 8_192;

/** The words of a text in its order; scripts without spaces as overlapping pairs of characters. */
export function wordsOf(text: string): readonly Word[] {
  const lower = text
    .slice(0, MAX_TEXT)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[’ʼ]/g, "'")
    .replace(/'s(?!\p{L})/gu, '');
  return (lower.match(PIECES) ?? []).flatMap((piece) => (IS_UNSPACED.test(piece) ? characterPairs(piece) : [wordOf(piece)]));
}

/** `DimmableLight` as the words that it is made of. */
export function splitName(name: string): string {
  return name.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
}

/** A word that is written without any mark. */
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
 * A word without the endings that English gives it: `dimming`, `dims` and `dimmed` are `dim`. Light on purpose, and only for
 * plain Latin letters: words of other languages mostly stay as they are, and are changed alike wherever they stand.
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
