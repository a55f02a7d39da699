import { isHomeWord } from './lexicon.ts';
import { stem } from './stem.ts';
import type { Word } from './words.ts';

const SHORTEST_WHOLE = 7;
const SHORTEST_HEAD = 3;
const SHORTEST_TAIL = 4;
/** What joins two words of German, longest first. */
const JOINTS = ['en', 'es', 'n', 's', ''];

const NO_PARTS: readonly Word[] = [];
/** The same words come again and again. */
const known = new Map<string, readonly Word[]>();
const MAX_KNOWN = 4_096;

/**
 * The two parts of a word that ends with a thing of a home: `Wohnzimmerlampe` is `wohnzimmer` and `lampe`. Nothing for words
 * that are known as a whole.
 */
export function compoundParts(word: Word): readonly Word[] {
  if (word.text.length < SHORTEST_WHOLE) return NO_PARTS;
  const before = known.get(word.text);
  if (before) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const parts = partsOf(word);
  known.set(word.text, parts);
  return parts;
}

function partsOf({ text, stem: whole }: Word): readonly Word[] {
  if (isHomeWord(whole) || !/^[a-z]+$/.test(text)) return NO_PARTS;
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
