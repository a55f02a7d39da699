import { lazy, oncePerText } from '../../core/lifecycle.ts';
import { DEVICE_WORDS, MEASURE_WORDS, PLACE_WORDS, QUALITY_WORDS, STOP_WORDS } from './vocabulary.ts';
import { stem, type Word, wordsOf } from './words.ts';

/** The kind of a word: a `thing` in a home, a `place`, or a `quality` that devices measure or set. */
export type Role = 'thing' | 'place' | 'quality';

/** A meaning of a word or phrase. */
export interface Meaning {
  /** Name of the meaning, such as `~light`. The `~` keeps it apart from words of a text. */
  readonly concept: string;
  /** Certainty of the meaning, from 0 to 1. */
  readonly strength: number;
  readonly role: Role;
}

/** The meanings of one or more adjacent words in a text. */
export interface MeaningSpan {
  readonly start: number;
  readonly length: number;
  readonly meanings: readonly Meaning[];
}

const NEIGHBOUR = 0.5;
const NEIGHBOUR_MARK = '≈';

interface Lexicon {
  /** For each first word of a phrase, the number of words in the longest phrase that begins with it. */
  readonly beginnings: Map<string, number>;
  readonly meaningsByStems: Map<string, readonly Meaning[]>;
}

/** The lexicon. The first search builds it, so that a hub without searches starts faster and needs less memory. */
const lexicon = lazy((): Lexicon => {
  const read: Lexicon = { beginnings: new Map(), meaningsByStems: new Map() };
  for (const line of DEVICE_WORDS) readLine(line, 'thing', read);
  for (const line of PLACE_WORDS) readLine(line, 'place', read);
  for (const line of [...MEASURE_WORDS, ...QUALITY_WORDS]) readLine(line, 'quality', read);
  return read;
});

/** Returns the index term for a meaning. */
export function concept(name: string): string {
  return `~${name}`;
}

/** Returns the index term of things with a related meaning: a garage door is almost a door, and has the term `≈door`. */
export function neighbourOf(term: string): string {
  return term.replace('~', NEIGHBOUR_MARK);
}

/** Returns whether the lexicon contains the word. */
export function isHomeWord(stem: string): boolean {
  return lexicon().meaningsByStems.has(stem);
}

/** Returns whether a word names a kind of thing. Some such words, like `lock` and `vacuum`, are verbs too. */
export function isThing(stem: string): boolean {
  return (lexicon().meaningsByStems.get(stem) ?? []).some(({ role, strength }) => role === 'thing' && strength === 1);
}

/** Returns the meanings in a text from left to right. At each position, only the longest phrase of the lexicon counts. */
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
/** Linking elements in German compounds, the longest first. */
const JOINTS = ['en', 'es', 'n', 's', ''];

const NO_PARTS: readonly Word[] = [];
/** The parts of compounds. They are cached, because the same words occur often. */
const partsOf = oncePerText(splitCompound, { maxKept: 4_096 });

/** Splits a compound such as `wohnzimmerlampe` in two if its end is a lexicon word. A whole lexicon word has no parts. */
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

/** Returns the first part of a compound. Removes a linking element (`en` in `kuchenlampe`) if the part without it is in the lexicon. */
function headOf(head: string): Word {
  const joint = JOINTS.find((end) => head.endsWith(end) && isHomeWord(stem(head.slice(0, head.length - end.length)))) ?? '';
  return wordOf(head.slice(0, head.length - joint.length));
}

function wordOf(text: string): Word {
  return { text, stem: stem(text) };
}

const KNOWN_LANGUAGES = 'English, German, French, Spanish, Dutch and Italian';
const FEWEST_WORDS = 3;
/** Minimum share of known words. If fewer words are known, the language of the sentence counts as unknown. */
const KNOWN_SHARE = 0.2;

/** Returns a hint for the person if the language is unknown. `isName` returns whether a term occurs in names of the home. */
export function unknownLanguage(text: string, isName: (term: string) => boolean): string | undefined {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const foreign = text.match(/(?!\p{sc=Latin})\p{L}/gu)?.length ?? 0;
  const words = wordsOf(text).filter(({ text: word }) => !/^\d+$/.test(word));
  const known = words.filter(({ text: word, stem }) => STOP_WORDS.has(word) || isHomeWord(stem) || isName(stem)).length;
  const isForeign = letters > 0 && foreign > letters / 2;
  if (!isForeign && (words.length < FEWEST_WORDS || known / words.length >= KNOWN_SHARE)) return undefined;
  return `This language is not known here: the search reads ${KNOWN_LANGUAGES}, and in any language the names of devices and rooms`;
}
