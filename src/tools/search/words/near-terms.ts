import { editDistance } from '../../../core/edit-distance.ts';
import type { Alternative } from '../need.ts';

const SHORTEST = 4;
const LONG = 8;
const ONE_SLIP = 0.7;
const TWO_SLIPS = 0.5;
const BEGINNING = 0.6;
const MAX_NEAR = 24;

/** The terms of those that count that a word nearly is: one slip of the pen, two in a long word, or the beginning of a longer one. */
export function nearTerms(word: string, terms: Iterable<string>, counts: (term: string) => boolean): readonly Alternative[] {
  if (word.length < SHORTEST || !/^\p{L}+$/u.test(word)) return [];
  const slips = word.length >= LONG ? 2 : 1;
  const letters = lettersOf(word);
  const near: Alternative[] = [];
  for (const term of terms) {
    const strength = likeness(word, term, { slips, letters });
    if (strength > 0 && counts(term)) near.push({ term, strength, isNear: true });
  }
  return near.sort((a, b) => b.strength - a.strength || (a.term < b.term ? -1 : 1)).slice(0, MAX_NEAR);
}

function likeness(word: string, term: string, { slips, letters }: { readonly slips: number; readonly letters: number }): number {
  if (term.startsWith(word)) return BEGINNING;
  if (Math.abs(term.length - word.length) > slips || term.length < SHORTEST - 1) return 0;
  // Each slip changes at most two of the letters that occur: cheap to see, and it leaves few to compare in full.
  if (bitsIn(lettersOf(term) ^ letters) > 2 * slips) return 0;
  const distance = editDistance(word, term);
  if (distance > slips && !isSwapped(word, term)) return 0;
  return distance <= 1 || isSwapped(word, term) ? ONE_SLIP : TWO_SLIPS;
}

/** Two neighbouring letters in the wrong order: one slip, though it counts as two changes. */
function isSwapped(word: string, term: string): boolean {
  if (word.length !== term.length) return false;
  const at = [...word].findIndex((letter, place) => letter !== term[place]);
  if (at < 0) return false;
  return word[at] === term[at + 1] && word[at + 1] === term[at] && word.slice(at + 2) === term.slice(at + 2);
}

/** Which letters occur, one bit for each of 31. */
function lettersOf(word: string): number {
  let letters = 0;
  for (let place = 0; place < word.length; place++) letters |= 1 << (word.charCodeAt(place) % 31);
  return letters;
}

function bitsIn(number: number): number {
  let count = 0;
  for (let rest = number; rest !== 0; rest &= rest - 1) count++;
  return count;
}
