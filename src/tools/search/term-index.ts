import { oncePerText } from '../../core/lifecycle.ts';
import { compoundParts, meaningsIn, neighbourOf } from './lexicon.ts';
import { splitName, type Word, wordsOf } from './words.ts';

/** A decoded posting: the occurrence of a term in a document. */
export interface Posting {
  readonly document: number;
  /** Weight of the term in the document, from 0 to 1. */
  readonly weight: number;
  readonly field: Field;
}

/** Names of a home. `revision` changes whenever a name changes. */
interface Revised {
  readonly revision: number;
}

const NONE: readonly number[] = [];
type Terms = ReadonlyMap<string, TermWeight>;

/** A posting packs document, weight (8 bits) and field (4 bits) into one integer. Ten thousand tools then need only a few megabytes. */
const FIELD_BITS = 4;
const WEIGHT_BITS = 8;
const DOCUMENT_SHIFT = FIELD_BITS + WEIGHT_BITS;
const WEIGHT_STEPS = 2 ** WEIGHT_BITS - 1;
const ENTRY_MASK = 2 ** DOCUMENT_SHIFT - 1;
const FIELD_MASK = 2 ** FIELD_BITS - 1;
/** The index keeps items that the list lacks, until their number exceeds this value plus a quarter of the list's length. */
const SWEEP_AT = 256;
const SWEEP_SHARE = 0.25;

/** An inverted index of items. `membersOf` updates it from a list. Items missing in the list are removed only if there are many of them. */
export class TermIndex<Item extends object> {
  readonly #termsOf: (item: Item) => Terms;
  readonly #names: Revised;
  readonly #postings = new Map<string, number[]>();
  #revision: number;
  #items: (Item | undefined)[] = [];
  #numbers = new Map<Item, number>();
  #members = new WeakMap<readonly Item[], Uint8Array>();
  #gone = 0;

  /** If `names.revision` changes, the index is rebuilt, because the terms of items contain names. */
  constructor(termsOf: (item: Item) => Terms, names: Revised) {
    this.#termsOf = termsOf;
    this.#names = names;
    this.#revision = names.revision;
  }

  /** Returns the number of the next document. All documents in the index have lower numbers, starting at 0. */
  get bound(): number {
    return this.#items.length;
  }

  /** Returns all terms of the indexed documents. */
  terms(): Iterable<string> {
    return this.#postings.keys();
  }

  item(document: number): Item | undefined {
    return this.#items[document];
  }

  /** Updates the index from a list. Returns a cached array with 1 at the number of each document in the list, and 0 elsewhere. */
  membersOf(list: readonly Item[]): Uint8Array {
    if (this.#names.revision !== this.#revision) this.#clear();
    const known = this.#members.get(list);
    if (known) return known;
    this.#take(list);
    const members = new Uint8Array(this.#items.length);
    for (const item of list) members[this.#numbers.get(item) ?? 0] = 1;
    this.#members.set(list, members);
    return members;
  }

  /** Returns the postings of a term as integers. `documentOf`, `weightOf` and `fieldOf` decode them. */
  entries(term: string): readonly number[] {
    return this.#postings.get(term) ?? NONE;
  }

  posting(term: string, document: number): Posting | undefined {
    const entries = this.entries(term);
    let low = 0;
    let high = entries.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const entry = entries[middle] ?? 0;
      const found = documentOf(entry);
      if (found === document) return { document, weight: weightOf(entry), field: fieldOf(entry) };
      if (found < document) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }

  #clear(): void {
    this.#revision = this.#names.revision;
    this.#postings.clear();
    this.#items = [];
    this.#numbers = new Map();
    this.#members = new WeakMap();
    this.#gone = 0;
  }

  /** Updates the index from a list. If the list is shorter than half the index, it may be incomplete, and no items are removed. */
  #take(list: readonly Item[]): void {
    const known = this.#numbers.size;
    const isWhole = list.length * 2 >= known && known > list.length * (1 + SWEEP_SHARE) + SWEEP_AT;
    const kept = isWhole ? new Set(list) : undefined;
    if (kept) for (const [item, number] of this.#numbers) if (!kept.has(item)) this.#forget(item, number);
    if (this.#gone > 0) this.#sweep();
    for (const item of list) if (!this.#numbers.has(item)) this.#add(item);
  }

  #add(item: Item): void {
    const number = this.#items.length;
    this.#items.push(item);
    this.#numbers.set(item, number);
    for (const [term, { weight, field }] of this.#termsOf(item)) {
      const steps = Math.max(1, Math.round(Math.min(1, weight) * WEIGHT_STEPS));
      const entry = (number << DOCUMENT_SHIFT) | (steps << FIELD_BITS) | FIELDS.indexOf(field);
      const entries = this.#postings.get(term);
      if (entries) entries.push(entry);
      else this.#postings.set(term, [entry]);
    }
  }

  #forget(item: Item, number: number): void {
    this.#numbers.delete(item);
    this.#items[number] = undefined;
    this.#gone++;
  }

  /** Deletes the postings of removed documents, and renumbers the other documents in the same order. */
  #sweep(): void {
    const moved = new Map<number, number>();
    const items = this.#items.filter((item, number) => {
      if (item !== undefined) moved.set(number, moved.size);
      return item !== undefined;
    });
    for (const [term, entries] of this.#postings) {
      const left = entries.flatMap((entry) => {
        const number = moved.get(documentOf(entry));
        return number === undefined ? [] : [(number << DOCUMENT_SHIFT) | (entry & ENTRY_MASK)];
      });
      if (left.length > 0) this.#postings.set(term, left);
      else this.#postings.delete(term);
    }
    this.#items = items;
    this.#numbers = new Map(items.flatMap((item, number) => (item === undefined ? [] : [[item, number] as const])));
    this.#members = new WeakMap();
    this.#gone = 0;
  }
}

/** Returns the document number in a posting. */
export function documentOf(entry: number): number {
  return entry >> DOCUMENT_SHIFT;
}

/** Returns the weight in a posting, from 0 to 1. */
export function weightOf(entry: number): number {
  return ((entry & ENTRY_MASK) >> FIELD_BITS) / WEIGHT_STEPS;
}

/** Returns the field in a posting. */
export function fieldOf(entry: number): Field {
  return FIELDS[entry & FIELD_MASK] ?? 'name';
}

/** The fields of a document. Reasons of a match contain their names. */
const FIELDS = [
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

/** A text of a document, with the field that it belongs to. */
export interface FieldText {
  readonly field: Field;
  readonly text: string;
}

/** An index term that is not a word of a text, such as an action. Its weight is from 0 to 1. */
export interface ExtraTerm {
  readonly field: Field;
  readonly term: string;
  readonly weight: number;
}

/** The weight of a term in a document. */
export interface TermWeight {
  /** Weight of the term, from 0 to 1. */
  readonly weight: number;
  /** The field that contributes most to the weight. */
  readonly field: Field;
}

/** For each field, the weight of a word and the usual number of words in a text. */
const FIELD_WEIGHTS: Readonly<Record<Field, { readonly weight: number; readonly usualLength: number }>> = {
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
/** Parameters of BM25F (Robertson and Zaragoza 2009). A high LENGTH_SHARE favours short texts; a high SATURATION favours repeated words. */
const LENGTH_SHARE = 0.5;
const SATURATION = 2.5;
const COMPOUND_PART_WORTH = 0.8;

/** Plain words for device types with misleading names: a `WindowCovering` is no window, a `DoorLock` is no door. */
const PLAIN_TYPES: Readonly<Record<string, string>> = { WindowCovering: 'covering', DoorLock: 'lock', MountedOnOffControl: 'switch' };

/** Returns device types as plain words. */
export function typeText(types: readonly string[]): string {
  return splitName(types.map((type) => PLAIN_TYPES[type] ?? type).join(' '));
}

/** Returns the terms of a document. BM25F computes their weights from the texts; `extra` terms keep their own weights. */
export function documentTerms(texts: readonly FieldText[], extra: readonly ExtraTerm[]): ReadonlyMap<string, TermWeight> {
  const sums = new Map<string, { sum: number; best: number; field: Field }>();
  for (const { field, text } of texts) {
    const { terms, length } = textTerms(text);
    const { weight, usualLength } = FIELD_WEIGHTS[field];
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

/** Returns the terms of a text. They are cached, because many tools have the same titles, tags and device names. */
const textTerms = oncePerText(
  (text) => {
    const words = wordsOf(text);
    return { terms: termsOf(words), length: words.length };
  },
  { maxKept: 4_096, maxLength: 64 },
);

/** Returns the terms of words: the words in both spellings of umlauts, the parts of compounds, and the meanings. */
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
    for (const part of parts) add(part.stem, COMPOUND_PART_WORTH);
    for (const part of parts) addMeanings([part], COMPOUND_PART_WORTH);
  }
  addMeanings(words, 1);
  return terms;
}
