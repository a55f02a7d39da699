import { stem } from './stem.ts';

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
/** The same words come again and again. */
const known = new Map<string, Word>();
const MAX_KNOWN = 8_192;

/** The words of a text in its order; scripts without spaces as overlapping pairs of characters. */
export function wordsOf(text: string): readonly Word[] {
  const lower = text
    .slice(0, MAX_TEXT)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[’ʼ]/g, "'")
    .replace(/'s(?!\p{L})/gu, '');
  return (lower.match(PIECES) ?? []).flatMap((piece) => (IS_UNSPACED.test(piece) ? pairsOf(piece) : [wordOf(piece)]));
}

/** `DimmableLight` as the words that it is made of. */
export function splitName(name: string): string {
  return name.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
}

/** A word that is written without any mark. */
export function folded(text: string): string {
  const plain = text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
  return /[^\p{ASCII}]/u.test(plain) ? plain.replace(/[ßøæœłđıðþ]/g, (letter) => LETTERS[letter] ?? letter) : plain;
}

function wordOf(piece: string): Word {
  const before = known.get(piece);
  if (before) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const word = makeWord(piece);
  known.set(piece, word);
  return word;
}

function makeWord(piece: string): Word {
  if (/^[a-z]+$/.test(piece)) return { text: piece, stem: stem(piece) };
  const text = folded(piece);
  const spelled = folded(piece.replace(/[äöü]/g, (letter) => UMLAUTS[letter] ?? letter));
  return { text, stem: stem(text), ...(spelled !== text && { variant: stem(spelled) }) };
}

function pairsOf(piece: string): readonly Word[] {
  const characters = [...piece];
  if (characters.length === 1) return [{ text: piece, stem: piece }];
  return characters.slice(1).map((character, index) => {
    const pair = `${characters[index]}${character}`;
    return { text: pair, stem: pair };
  });
}
