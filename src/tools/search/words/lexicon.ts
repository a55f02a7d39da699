import { lazy } from '../../../core/lazy.ts';
import { DEVICE_WORDS, MEASURE_WORDS, PLACE_WORDS, QUALITY_WORDS } from './home-words.ts';
import { type Word, wordsOf } from './words.ts';

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
export interface MeantSpan {
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
export function meaningsIn(words: readonly Word[]): readonly MeantSpan[] {
  const spans: MeantSpan[] = [];
  for (let start = 0; start < words.length; ) {
    const span = longestAt(words, start);
    if (span) spans.push(span);
    start += span?.length ?? 1;
  }
  return spans;
}

function longestAt(words: readonly Word[], start: number): MeantSpan | undefined {
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
    learn(into, key, { concept: concept(name), strength: 1, role });
    for (const neighbour of neighbours) learn(into, key, { concept: concept(neighbour), strength: NEIGHBOUR, role });
  }
}

function learn({ meaningsByStems }: Lexicon, key: string, meaning: Meaning): void {
  const known = meaningsByStems.get(key) ?? [];
  if (!known.some((one) => one.concept === meaning.concept)) meaningsByStems.set(key, [...known, meaning]);
}

function keyOf(words: readonly Word[]): string {
  return words.length === 1 ? (words[0]?.stem ?? '') : words.map((word) => word.stem).join(' ');
}
