import { compoundParts } from '../words/compound.ts';
import { meaningsIn, neighbourOf } from '../words/lexicon.ts';
import { splitName, type Word, wordsOf } from '../words/words.ts';

/** Where a word of a document stands; reasons name it. */
export const FIELDS = [
  'name',
  'title',
  'device',
  'alias',
  'area',
  'floor',
  'type',
  'tag',
  'description',
  'namespace',
  'parameter',
  'action',
  'value',
  'reading',
] as const;
export type Field = (typeof FIELDS)[number];

/** A text of a document. */
export interface FieldText {
  readonly field: Field;
  readonly text: string;
}

/** A term that is no word of a text, such as an action, 0 to 1. */
export interface ExtraTerm {
  readonly field: Field;
  readonly term: string;
  readonly weight: number;
}

/** How well a document stands for a term. */
export interface TermWeight {
  /** 0 to 1. */
  readonly weight: number;
  /** The field that most of it comes from. */
  readonly field: Field;
}

/** How much a word counts by its field, and how many words the field usually has. */
const SHAPES: Readonly<Record<Field, { readonly weight: number; readonly usualLength: number }>> = {
  name: { weight: 2, usualLength: 4 },
  title: { weight: 2, usualLength: 2 },
  device: { weight: 4, usualLength: 2 },
  alias: { weight: 4, usualLength: 3 },
  area: { weight: 4, usualLength: 2 },
  floor: { weight: 2.5, usualLength: 2 },
  type: { weight: 3, usualLength: 2 },
  tag: { weight: 2, usualLength: 4 },
  reading: { weight: 3, usualLength: 2 },
  description: { weight: 0.5, usualLength: 14 },
  namespace: { weight: 0.5, usualLength: 1 },
  parameter: { weight: 0.6, usualLength: 6 },
  action: { weight: 1, usualLength: 1 },
  value: { weight: 1, usualLength: 1 },
};
/** BM25F (Robertson and Zaragoza 2009): how much a field's length counts, and where more of a word stops to count. */
const LENGTH_SHARE = 0.5;
const SATURATION = 2.5;
/** What one of two parts of a compound counts. */
const PART = 0.8;

/** Types whose names say more than the thing is: a blind is no window, and a lock is no door. */
const PLAIN_TYPES: Readonly<Record<string, string>> = { WindowCovering: 'covering', DoorLock: 'lock', MountedOnOffControl: 'switch' };

/** The names of device types in words. */
export function typeText(types: readonly string[]): string {
  return splitName(types.map((type) => PLAIN_TYPES[type] ?? type).join(' '));
}

/** The terms of a document with their saturated weights, by BM25F over its fields. */
export function documentTerms(texts: readonly FieldText[], extra: readonly ExtraTerm[]): ReadonlyMap<string, TermWeight> {
  const sums = new Map<string, { sum: number; best: number; field: Field }>();
  for (const { field, text } of texts) {
    const { terms, length } = textTerms(text);
    const { weight, usualLength } = SHAPES[field];
    const worth = weight / (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / usualLength);
    for (const [term, count] of terms) {
      const before = sums.get(term);
      const share = worth * count;
      if (!before) sums.set(term, { sum: share, best: share, field });
      else
        sums.set(term, { sum: before.sum + share, best: Math.max(before.best, share), field: share > before.best ? field : before.field });
    }
  }
  const terms = new Map<string, TermWeight>();
  for (const [term, { sum, field }] of sums) terms.set(term, { weight: sum / (sum + SATURATION), field });
  for (const { term, weight, field } of extra) terms.set(term, { weight, field });
  return terms;
}

interface TextTerms {
  readonly terms: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Names of devices and areas, titles and tags come again with every tool of a device or a kind. */
const known = new Map<string, TextTerms>();
const MAX_KNOWN = 4_096;
const LONGEST_KNOWN = 64;

function textTerms(text: string): TextTerms {
  const before = known.get(text);
  if (before) return before;
  const words = wordsOf(text);
  const made = { terms: termsOf(words), length: words.length };
  if (text.length > LONGEST_KNOWN) return made;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, made);
  return made;
}

/** Words, both spellings of umlauts, parts of compounds, and what they mean. */
function termsOf(words: readonly Word[]): ReadonlyMap<string, number> {
  const terms = new Map<string, number>();
  const add = (term: string, count: number) => terms.set(term, (terms.get(term) ?? 0) + count);
  const addMeanings = (of: readonly Word[], share: number) => {
    for (const { meanings } of meaningsIn(of))
      for (const { concept, strength } of meanings) add(strength === 1 ? concept : neighbourOf(concept), share);
  };
  for (const word of words) {
    add(word.stem, 1);
    if (word.variant !== undefined) add(word.variant, 1);
    const parts = compoundParts(word);
    for (const part of parts) add(part.stem, PART);
    for (const part of parts) addMeanings([part], PART);
  }
  addMeanings(words, 1);
  return terms;
}
