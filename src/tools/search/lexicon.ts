import { lazy, oncePerText } from '../../core/lifecycle.ts';
import { DEVICE_WORDS, MEASURE_WORDS, PLACE_WORDS, QUALITY_WORDS, STOP_WORDS } from './vocabulary.ts';
import { stem, type Word, wordsOf } from './words.ts';

/** What kind of word it is: a `thing` of a home, a `place` in it, or a `quality` that can be measured or set. */
export type Role = 'thing' | 'place' | 'quality';

/** What a word or a phrase means. */
export interface Meaning {
  /** Such as `~light`: never a word that somebody could write. */
  readonly concept: string;
  /** 0 to 1: how sure the word means it. */
  readonly strength: number;
  readonly role: Role;
}

/** A meaning that one or more words of a text have together. */
export interface MeaningSpan {
  readonly start: number;
  readonly length: number;
  readonly meanings: readonly Meaning[];
}

const NEIGHBOUR = 0.5;
const NEIGHBOUR_MARK = '≈';

interface Lexicon {
  /** First word of the phrases that are known → the number of words in the longest of them. */
  readonly beginnings: Map<string, number>;
  readonly meaningsByStems: Map<string, readonly Meaning[]>;
}

/** Read at the first search: a hub that nobody searches starts sooner and is smaller. */
const lexicon = lazy((): Lexicon => {
  const read: Lexicon = { beginnings: new Map(), meaningsByStems: new Map() };
  for (const line of DEVICE_WORDS) readLine(line, 'thing', read);
  for (const line of PLACE_WORDS) readLine(line, 'place', read);
  for (const line of [...MEASURE_WORDS, ...QUALITY_WORDS]) readLine(line, 'quality', read);
  return read;
});

/** The term under which a meaning is kept. */
export function concept(name: string): string {
  return `~${name}`;
}

/** The term under which what is only next to a meaning is kept: a garage door is nearly a door. */
export function neighbourOf(term: string): string {
  return term.replace('~', NEIGHBOUR_MARK);
}

/** True for a word that the lexicon has by itself. */
export function isHomeWord(stem: string): boolean {
  return lexicon().meaningsByStems.has(stem);
}

/** True for a word that names a kind of thing by itself, as `lock` and `vacuum` do, which are also verbs. */
export function isThing(stem: string): boolean {
  return (lexicon().meaningsByStems.get(stem) ?? []).some(({ role, strength }) => role === 'thing' && strength === 1);
}

/** The meanings in a text, the longest phrases first; a word inside a phrase keeps its own meanings only where it has more. */
export function meaningsIn(words: readonly Word[]): readonly MeaningSpan[] {
  const spans: MeaningSpan[] = [];
  for (let start = 0; start < words.length; ) {
    const span = longestAt(words, start);
    if (span) spans.push(span);
    start += span?.length ?? 1;
  }
  return spans;
}

function longestAt(words: readonly Word[], start: number): MeaningSpan | undefined {
  const { beginnings, meaningsByStems } = lexicon();
  const longest = beginnings.get(words[start]?.stem ?? '') ?? 0;
  for (let length = Math.min(longest, words.length - start); length > 0; length--) {
    const meanings = meaningsByStems.get(keyOf(words.slice(start, start + length)));
    if (meanings) return { start, length, meanings };
  }
  return undefined;
}

function readLine(line: string, role: Role, into: Lexicon): void {
  const [name = '', rest = ''] = line.split(': ');
  const neighbours = [...rest.matchAll(/\((\w+)\)/g)].map((match) => match[1] ?? '');
  const phrases = rest.replace(/\(\w+\)/g, '').split(/[\s|]+/);
  for (const phrase of phrases.filter(Boolean)) {
    const words = wordsOf(phrase.replaceAll('_', ' '));
    const key = keyOf(words);
    const [first] = words;
    if (first) into.beginnings.set(first.stem, Math.max(into.beginnings.get(first.stem) ?? 0, words.length));
    addMeaning(into, key, { concept: concept(name), strength: 1, role });
    for (const neighbour of neighbours) addMeaning(into, key, { concept: concept(neighbour), strength: NEIGHBOUR, role });
  }
}

function addMeaning({ meaningsByStems }: Lexicon, key: string, meaning: Meaning): void {
  const known = meaningsByStems.get(key) ?? [];
  if (!known.some((one) => one.concept === meaning.concept)) meaningsByStems.set(key, [...known, meaning]);
}

function keyOf(words: readonly Word[]): string {
  return words.length === 1 ? (words[0]?.stem ?? '') : words.map((word) => word.stem).join(' ');
}

const SHORTEST_WHOLE = 7;
const SHORTEST_HEAD = 3;
const SHORTEST_TAIL = 4;
/** What joins two words of German, longest first. */
const JOINTS = ['en', 'es', 'n', 's', ''];

const NO_PARTS: readonly Word[] = [];
/** The parts of a word, from its text: the same words come again and again. */
const partsOf = oncePerText(splitCompound, { maxKept: 4_096 });

/**
 * The two parts of a word that ends with a thing of a home: `Wohnzimmerlampe` is `wohnzimmer` and `lampe`. Nothing for words
 * that are known as a whole.
 */
export function compoundParts(word: Word): readonly Word[] {
  return word.text.length < SHORTEST_WHOLE ? NO_PARTS : partsOf(word.text);
}

function splitCompound(text: string): readonly Word[] {
  if (isHomeWord(stem(text)) || !/^[a-z]+$/.test(text)) return NO_PARTS;
  for (let cut = SHORTEST_HEAD; cut <= text.length - SHORTEST_TAIL; cut++) {
    const tail = text.slice(cut);
    if (!isHomeWord(stem(tail))) continue;
    return [headOf(text.slice(0, cut)), wordOf(tail)];
  }
  return NO_PARTS;
}

/** Without the joint where that makes it a known word: `kuchen` before `lampe` is the `kuche`. */
function headOf(head: string): Word {
  const joint = JOINTS.find((end) => head.endsWith(end) && isHomeWord(stem(head.slice(0, head.length - end.length)))) ?? '';
  return wordOf(head.slice(0, head.length - joint.length));
}

function wordOf(text: string): Word {
  return { text, stem: stem(text) };
}

/** Languages whose words the lexicon has. */
const KNOWN_LANGUAGES = 'English, German, French, Spanish, Dutch and Italian';
const FEWEST_WORDS = 3;
/** Of the words of a sentence, where less than this is known it is in another language. */
const KNOWN_SHARE = 0.2;

/**
 * What to say of a sentence that is in no language that is known here; undefined where it is in one. `isName` tells whether a term
 * stands somewhere in the home.
 */
export function unknownLanguage(text: string, isName: (term: string) => boolean): string | undefined {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const foreign = text.match(/(?!\p{sc=Latin})\p{L}/gu)?.length ?? 0;
  const words = wordsOf(text).filter(({ text: word }) => !/^\d+$/.test(word));
  const known = words.filter(({ text: word, stem }) => STOP_WORDS.has(word) || isHomeWord(stem) || isName(stem)).length;
  const isForeign = letters > 0 && foreign > letters / 2;
  if (!isForeign && (words.length < FEWEST_WORDS || known / words.length >= KNOWN_SHARE)) return undefined;
  return `This language is not known here: the search reads ${KNOWN_LANGUAGES}, and in any language the names of devices and rooms`;
}
