import { editDistance } from '../../core/edit-distance.ts';
import { ACTING_TERM, actionTerm, FOR_KIND_TERM, OF_DEVICE_TERM, withRelatedActions } from './actions.ts';
import type { Alternative, Need, QueryRequest } from './query-needs.ts';
import { documentOf, type Field, fieldOf, type TermIndex, weightOf } from './term-index.ts';
import { STOP_WORDS } from './vocabulary.ts';
import { wordsOf } from './words.ts';

/** A document, with its score and how it meets each need. */
export interface Ranked {
  readonly document: number;
  readonly score: number;
  /** For each need, the index of the alternative by which the document meets it; -1 if the document does not meet the need. */
  readonly metBy: readonly number[];
}

/** The ranked documents for a query. */
export interface Ranking {
  /** The ranked documents, the best first. */
  readonly ranked: readonly Ranked[];
  /** The needs of the query. If no document has a word, similar words are added as alternatives. */
  readonly needs: readonly Need[];
}

/** The parameters of `rank`. */
export interface RankQuery {
  readonly wish: QueryRequest;
  readonly limit: number;
  readonly tieBreak: (document: number) => string;
  readonly areaOf: (document: number) => string | undefined;
}

/** Minimum fit of a term that names a room. With a lower fit, the term means a related room. */
const SAME_ROOM = 0.5;
/** Fields with the name or place of a device. Even a device in another room can have the requested room in one of them. */
const NAMING: ReadonlySet<Field> = new Set(['area', 'floor', 'device', 'alias', 'name']);

/** Returns at most `limit` documents, the best first. Documents that `accepts` refuses have no influence on the rarity of words. */
export function rank<Item extends object>(index: TermIndex<Item>, query: RankQuery, accepts: (document: number) => boolean): Ranking {
  const isAccepted = memoizedPredicate(accepts, index.bound);
  const needs = query.wish.needs.map((need) => withNearTerms(index, need, isAccepted));
  const isRuledOut = [
    excludedByAction(index, query.wish),
    excludedByPlace(index, { needs, areaOf: query.areaOf }, isAccepted),
    excludedByKind(index, needs, isAccepted),
  ];
  const scores = new Scores(index, (document) => isAccepted(document) && !isRuledOut.some((rulesOut) => rulesOut(document)));
  const words = needs.filter((need) => need.kind === 'word');
  for (const need of words) scores.addCandidates(need);
  // Hints and actions match many documents. So they add candidates only if the words find none or say little.
  const others = needs.filter((need) => need.kind !== 'word');
  if (scores.count === 0 || words.every(({ role }) => role === 'weak' || role === 'situation'))
    for (const need of others) scores.addCandidates(need);
  for (const need of needs) scores.add(need);
  const best = scores.best(query.limit, query.tieBreak);
  return { needs, ranked: best.map((one) => ({ ...one, metBy: needs.map((need) => metBy(index, need, one.document)) })) };
}

/** Returns a predicate that calls `accepts` only once for each document. */
function memoizedPredicate(accepts: (document: number) => boolean, bound: number): (document: number) => boolean {
  const verdicts = new Int8Array(bound);
  return (document) => {
    const known = verdicts[document] ?? 0;
    if (known !== 0) return known > 0;
    const verdict = accepts(document);
    verdicts[document] = verdict ? 1 : -1;
    return verdict;
  };
}

/** Returns a predicate for documents to exclude. For a question, these are tools that act; otherwise, tools for a `forbidden` action. */
function excludedByAction<Item extends object>(
  index: TermIndex<Item>,
  { sought, forbidden, isQuestion, isNegated }: QueryRequest,
): (document: number) => boolean {
  if (isQuestion) return documentsWithTerm(index, [ACTING_TERM]);
  if (forbidden.size === 0) return () => false;
  const asked = [...withRelatedActions(sought)].map(([action, strength]) => [actionTerm(action), strength] as const);
  const denied = [...forbidden].map((action) => [actionTerm(action), 1] as const);
  const best = (list: readonly (readonly [string, number])[], document: number) =>
    Math.max(0, ...list.map(([term, strength]) => strength * (index.posting(term, document)?.weight ?? 0)));
  const acts = (document: number) => index.posting(ACTING_TERM, document) !== undefined;
  if (isNegated) return (document) => acts(document) && best(asked, document) <= best(denied, document);
  const isSuspect = documentsWithTerm(
    index,
    denied.map(([term]) => term),
  );
  return (document) => isSuspect(document) && acts(document) && best(denied, document) > best(asked, document);
}

function documentsWithTerm<Item extends object>(
  index: TermIndex<Item>,
  terms: readonly string[],
  counts: (entry: number) => boolean = () => true,
): (document: number) => boolean {
  const marks = new Uint8Array(index.bound);
  for (const term of terms) for (const entry of index.entries(term)) if (counts(entry)) marks[documentOf(entry)] = 1;
  return (document) => marks[document] === 1;
}

/** Returns a predicate for documents to exclude: tools with a `device_id` parameter, if no device has the requested kind or quality. */
function excludedByKind<Item extends object>(
  index: TermIndex<Item>,
  needs: readonly Need[],
  isAccepted: (document: number) => boolean,
): (document: number) => boolean {
  if (index.entries(FOR_KIND_TERM).length === 0) return () => false;
  const isOfDevice = (document: number) => isAccepted(document) && index.posting(OF_DEVICE_TERM, document) !== undefined;
  const isThere = ({ alternatives }: Need) =>
    alternatives.some(({ term }) => index.entries(term).some((entry) => isOfDevice(documentOf(entry))));
  const isLacking = needs.some((need) => (need.role === 'thing' || need.role === 'quality') && !isThere(need));
  return isLacking ? (document) => index.posting(FOR_KIND_TERM, document) !== undefined : () => false;
}

/** Returns a predicate for documents to exclude: those in other rooms, unless their names contain the requested room. */
function excludedByPlace<Item extends object>(
  index: TermIndex<Item>,
  { needs, areaOf }: { readonly needs: readonly Need[]; readonly areaOf: (document: number) => string | undefined },
  isAccepted: (document: number) => boolean,
): (document: number) => boolean {
  const words = needs.filter(({ kind, role }) => kind === 'word' && role !== 'weak');
  const said = new Set(words.flatMap(({ alternatives }) => alternatives.map(({ term }) => term)));
  const named = new Set<string>();
  const naming = words.filter((need) => {
    const areas = areasOf(index, need, (document) => (isAccepted(document) ? areaOf(document) : undefined));
    const own = [...areas].filter(([area, isPlace]) => isPlace || isWholeNameWritten(area, said));
    for (const [area] of own) named.add(area);
    return own.length > 0;
  });
  if (named.size === 0) return () => false;
  const terms = naming.flatMap(({ alternatives }) => alternatives.map(({ term }) => term));
  const isCalledSo = documentsWithTerm(index, terms, (entry) => NAMING.has(fieldOf(entry)));
  return (document) => {
    if (isCalledSo(document)) return false;
    const area = areaOf(document);
    return area !== undefined && !named.has(area);
  };
}

/** Returns a map of the rooms with the word in their name or floor. A room's value is true if the lexicon knows the word as a place. */
function areasOf<Item extends object>(
  index: TermIndex<Item>,
  { role, alternatives }: Need,
  areaOf: (document: number) => string | undefined,
): ReadonlyMap<string, boolean> {
  const areas = new Map<string, boolean>();
  for (const { term, isNear, fit = 1 } of alternatives) {
    if (isNear || fit < SAME_ROOM) continue;
    for (const entry of index.entries(term)) {
      const field = fieldOf(entry);
      if (field !== 'area' && field !== 'floor') continue;
      const area = areaOf(documentOf(entry));
      if (area !== undefined) areas.set(area, areas.get(area) === true || role === 'place');
    }
  }
  return areas;
}

function isWholeNameWritten(area: string, said: ReadonlySet<string>): boolean {
  const words = wordsOf(area).filter(({ text }) => !STOP_WORDS.has(text));
  return words.length > 0 && words.every(({ stem, variant }) => said.has(stem) || (variant !== undefined && said.has(variant)));
}

/** Returns the need, with similar words added if no accepted document has its word. */
function withNearTerms<Item extends object>(index: TermIndex<Item>, need: Need, isAccepted: (document: number) => boolean): Need {
  if (need.kind !== 'word') return need;
  const isThere = (term: string) => index.entries(term).some((entry) => isAccepted(documentOf(entry)));
  const isKnown = need.alternatives.some(({ term }) => isThere(term));
  const [exact] = need.alternatives;
  // A word with a known meaning is not treated as a typing mistake.
  if (isKnown || !exact || need.role !== 'name') return need;
  const near = nearTerms(exact.term, index.terms(), isThere);
  return near.length === 0 ? need : { ...need, alternatives: [...need.alternatives, ...near] };
}

function metBy<Item extends object>(index: TermIndex<Item>, { alternatives }: Need, document: number): number {
  let best = -1;
  let most = 0;
  for (const [place, { term, strength }] of alternatives.entries()) {
    const worth = strength * (index.posting(term, document)?.weight ?? 0);
    if (worth <= most) continue;
    best = place;
    most = worth;
  }
  return best;
}

/** Returns the items of several lists without repeats: all first items, then all second items, and so on. */
export function interleave<One>(lists: readonly (readonly One[])[], keyOf: (one: One) => unknown): readonly One[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  const mixed = Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
  const keys = mixed.map(keyOf);
  return lists.length < 2 ? mixed : mixed.filter((_, at) => keys.indexOf(keys[at]) === at);
}

/** A document with its score. */
interface Scored {
  readonly document: number;
  readonly score: number;
}

/** How much of the score depends on coverage, the share of the needs that a document meets. */
const COVERAGE_SHARE = 0.5;

/** Sums the scores of an index's documents, need by need. */
class Scores<Item extends object> {
  readonly #index: TermIndex<Item>;
  readonly #isAccepted: (document: number) => boolean;
  readonly #isCandidate: Uint8Array;
  readonly #candidates: number[] = [];
  readonly #sums: Float64Array;
  readonly #covered: Float64Array;
  /** Score of each document for the current need, by its best alternative so far. */
  readonly #current: Float64Array;
  #worth = 0;

  constructor(index: TermIndex<Item>, isAccepted: (document: number) => boolean) {
    this.#index = index;
    this.#isAccepted = isAccepted;
    this.#isCandidate = new Uint8Array(index.bound);
    this.#sums = new Float64Array(index.bound);
    this.#covered = new Float64Array(index.bound);
    this.#current = new Float64Array(index.bound);
  }

  get count(): number {
    return this.#candidates.length;
  }

  addCandidates({ alternatives }: Need): void {
    for (const { term } of alternatives) {
      for (const entry of this.#index.entries(term)) {
        const document = documentOf(entry);
        if (this.#isCandidate[document] || !this.#isAccepted(document)) continue;
        this.#isCandidate[document] = 1;
        this.#candidates.push(document);
      }
    }
  }

  /** To each candidate, adds its highest score among the need's alternatives. Words that few candidates have count more. */
  add(need: Need): void {
    const met: number[] = [];
    let most = 0;
    for (const { term, strength } of need.alternatives) {
      const worth = need.weight * this.#rarity(need, term);
      if (worth === 0) continue;
      most = Math.max(most, worth);
      this.#addTerm(term, worth * strength, met);
    }
    const isCounted = need.kind !== 'hint';
    if (isCounted) this.#worth += most;
    for (const document of met) {
      this.#sums[document] = valueAt(this.#sums, document) + valueAt(this.#current, document);
      if (isCounted) this.#covered[document] = valueAt(this.#covered, document) + most;
      this.#current[document] = 0;
    }
  }

  /** Returns at most `limit` candidates, the best first. */
  best(limit: number, tieBreak: (document: number) => string): readonly Scored[] {
    const top: Scored[] = [];
    const isBefore = (a: Scored, b: Scored) => a.score > b.score || (a.score === b.score && tieBreak(a.document) < tieBreak(b.document));
    for (const document of this.#candidates) {
      const one = { document, score: this.#total(document) };
      const last = top[limit - 1];
      if (one.score <= 0 || (last && !isBefore(one, last))) continue;
      let place = top.length;
      while (place > 0 && isBefore(one, top[place - 1] ?? one)) place--;
      top.splice(place, 0, one);
      if (top.length > limit) top.pop();
    }
    return top;
  }

  #total(document: number): number {
    const share = this.#worth === 0 ? 1 : valueAt(this.#covered, document) / this.#worth;
    return valueAt(this.#sums, document) * (1 - COVERAGE_SHARE + COVERAGE_SHARE * share);
  }

  /** Returns the rarity of a term among the candidates; 0 if no candidate has it. */
  #rarity({ kind }: Need, term: string): number {
    let count = 0;
    for (const entry of this.#index.entries(term)) if (this.#isCandidate[documentOf(entry)]) count++;
    if (count === 0) return 0;
    return kind === 'word' ? Math.log(1 + this.#candidates.length / count) : 1;
  }

  #addTerm(term: string, worth: number, met: number[]): void {
    for (const entry of this.#index.entries(term)) {
      const document = documentOf(entry);
      if (!this.#isCandidate[document]) continue;
      const score = worth * weightOf(entry);
      const before = valueAt(this.#current, document);
      if (before === 0) met.push(document);
      if (score > before) this.#current[document] = score;
    }
  }
}

function valueAt(values: Float64Array, place: number): number {
  return values[place] ?? 0;
}

const SHORTEST = 4;
const LONG = 8;
const ONE_TYPO = 0.7;
const TWO_TYPOS = 0.5;
const BEGINNING = 0.6;
const MAX_NEAR = 24;

/** Returns the terms that begin with the word, or that differ from it by one typo. A long word may have two typos. */
function nearTerms(word: string, terms: Iterable<string>, counts: (term: string) => boolean): readonly Alternative[] {
  if (word.length < SHORTEST || !/^\p{L}+$/u.test(word)) return [];
  const slips = word.length >= LONG ? 2 : 1;
  const letters = letterMask(word);
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
  // One typo changes at most two bits of the mask. This cheap check rules out most terms before the exact comparison.
  if (bitCount(letterMask(term) ^ letters) > 2 * slips) return 0;
  const distance = editDistance(word, term);
  if (distance > slips && !isSwapped(word, term)) return 0;
  return distance <= 1 || isSwapped(word, term) ? ONE_TYPO : TWO_TYPOS;
}

/** Returns whether two words differ only by two swapped neighbouring letters. Such a swap counts as one typo. */
function isSwapped(word: string, term: string): boolean {
  if (word.length !== term.length) return false;
  const at = [...word].findIndex((letter, place) => letter !== term[place]);
  if (at < 0) return false;
  return word[at] === term[at + 1] && word[at + 1] === term[at] && word.slice(at + 2) === term.slice(at + 2);
}

function letterMask(word: string): number {
  let letters = 0;
  for (let place = 0; place < word.length; place++) letters |= 1 << (word.charCodeAt(place) % 31);
  return letters;
}

function bitCount(number: number): number {
  let count = 0;
  for (let rest = number; rest !== 0; rest &= rest - 1) count++;
  return count;
}
