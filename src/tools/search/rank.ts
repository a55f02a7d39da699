import { ACTS_TERM, actionTerm, FOR_KIND_TERM, OF_DEVICE_TERM, withKin } from './actions.ts';
import type { Field } from './documents/search-document.ts';
import type { Need, Wish } from './need.ts';
import { Scores } from './scores.ts';
import { documentOf, fieldOf, type TermIndex } from './term-index.ts';
import { nearTerms } from './words/near-terms.ts';
import { STOP_WORDS } from './words/stop-words.ts';
import { wordsOf } from './words/words.ts';

/** How well one document meets a query. */
export interface Ranked {
  readonly document: number;
  readonly score: number;
  /** By the number of the need: the alternative that met it, -1 for none. */
  readonly metBy: readonly number[];
}

/** What a ranking found. */
export interface Ranking {
  /** Best first. */
  readonly ranked: readonly Ranked[];
  /** The needs as they were asked in the end, with words nearly like those that nobody has. */
  readonly needs: readonly Need[];
}

/** What is asked of an index. */
export interface RankQuery {
  readonly wish: Wish;
  readonly limit: number;
  /** Orders what has the same score. */
  readonly tieBreak: (document: number) => string;
  /** The room that a document is in. */
  readonly areaOf: (document: number) => string | undefined;
}

/** A word that fits a room less than this is of another one. */
const SAME_ROOM = 0.5;
/** What a thing is called and where it is: there the name of another room is its own. */
const NAMING: ReadonlySet<Field> = new Set(['area', 'floor', 'device', 'alias', 'name']);

/**
 * The documents that meet a wish, best first, at most `limit`. Everything is counted over those documents alone that
 * `accepts` allows: how rare a word is among hidden ones changes nothing.
 */
export function rank<Item extends object>(index: TermIndex<Item>, query: RankQuery, accepts: (document: number) => boolean): Ranking {
  const isAccepted = remembered(accepts, index.bound);
  const needs = query.wish.needs.map((need) => withNearTerms(index, need, isAccepted));
  const isRuledOut = [
    deedsRuledOut(index, query.wish),
    placesRuledOut(index, { needs, areaOf: query.areaOf }, isAccepted),
    kindsRuledOut(index, needs, isAccepted),
  ];
  const scores = new Scores(index, (document) => isAccepted(document) && !isRuledOut.some((rulesOut) => rulesOut(document)));
  const words = needs.filter((need) => need.kind === 'word');
  for (const need of words) scores.addCandidates(need);
  // An action alone fits half of a home: it counts among what the words found, and finds by itself only where they found nothing.
  const others = needs.filter((need) => need.kind !== 'word');
  if (scores.count === 0 || words.every(({ role }) => role === 'weak' || role === 'situation'))
    for (const need of others) scores.addCandidates(need);
  for (const need of needs) scores.add(need);
  const best = scores.best(query.limit, query.tieBreak);
  return { needs, ranked: best.map((one) => ({ ...one, metBy: needs.map((need) => metBy(index, need, one.document)) })) };
}

/** Whether somebody may know of a document is asked once. */
function remembered(accepts: (document: number) => boolean, bound: number): (document: number) => boolean {
  const verdicts = new Int8Array(bound);
  return (document) => {
    const known = verdicts[document] ?? 0;
    if (known !== 0) return known > 0;
    const verdict = accepts(document);
    verdicts[document] = verdict ? 1 : -1;
    return verdict;
  };
}

/** What acts is no answer to a question, and what does the opposite of a wish is no answer to it. */
function deedsRuledOut<Item extends object>(
  index: TermIndex<Item>,
  { sought, forbidden, isQuestion, isNegated }: Wish,
): (document: number) => boolean {
  if (isQuestion) return marked(index, [ACTS_TERM]);
  if (forbidden.size === 0) return () => false;
  const asked = [...withKin(sought)].map(([action, strength]) => [actionTerm(action), strength] as const);
  const denied = [...forbidden].map((action) => [actionTerm(action), 1] as const);
  const best = (list: readonly (readonly [string, number])[], document: number) =>
    Math.max(0, ...list.map(([term, strength]) => strength * (index.posting(term, document)?.weight ?? 0)));
  const acts = (document: number) => index.posting(ACTS_TERM, document) !== undefined;
  if (isNegated) return (document) => acts(document) && best(asked, document) <= best(denied, document);
  const isSuspect = marked(
    index,
    denied.map(([term]) => term),
  );
  return (document) => isSuspect(document) && acts(document) && best(denied, document) > best(asked, document);
}

/** Documents that have one of the terms, in an entry that counts. */
function marked<Item extends object>(
  index: TermIndex<Item>,
  terms: readonly string[],
  counts: (entry: number) => boolean = () => true,
): (document: number) => boolean {
  const marks = new Uint8Array(index.bound);
  for (const term of terms) for (const entry of index.entries(term)) if (counts(entry)) marks[documentOf(entry)] = 1;
  return (document) => marks[document] === 1;
}

/** What works with any device of a kind works with none where the home has no such device. */
function kindsRuledOut<Item extends object>(
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

interface PlaceQuery {
  readonly needs: readonly Need[];
  readonly areaOf: (document: number) => string | undefined;
}

/** A room that is named and exists rules out what is in other rooms, unless it is called by that room. */
function placesRuledOut<Item extends object>(
  index: TermIndex<Item>,
  { needs, areaOf }: PlaceQuery,
  isAccepted: (document: number) => boolean,
): (document: number) => boolean {
  const words = needs.filter(({ kind, role }) => kind === 'word' && role !== 'weak');
  const said = new Set(words.flatMap(({ alternatives }) => alternatives.map(({ term }) => term)));
  const named = new Set<string>();
  const naming = words.filter((need) => {
    const areas = areasOf(index, need, (document) => (isAccepted(document) ? areaOf(document) : undefined));
    const own = [...areas].filter(([area, isPlace]) => isPlace || isSaidWhole(area, said));
    for (const [area] of own) named.add(area);
    return own.length > 0;
  });
  if (named.size === 0) return () => false;
  const terms = naming.flatMap(({ alternatives }) => alternatives.map(({ term }) => term));
  const isCalledSo = marked(index, terms, (entry) => NAMING.has(fieldOf(entry)));
  return (document) => {
    if (isCalledSo(document)) return false;
    const area = areaOf(document);
    return area !== undefined && !named.has(area);
  };
}

/** The rooms that a word stands in the name of, and whether it is a word for such a room. */
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

function isSaidWhole(area: string, said: ReadonlySet<string>): boolean {
  const words = wordsOf(area).filter(({ text }) => !STOP_WORDS.has(text));
  return words.length > 0 && words.every(({ stem, variant }) => said.has(stem) || (variant !== undefined && said.has(variant)));
}

/** A word that no accepted document has is taken for those that look nearly like it. */
function withNearTerms<Item extends object>(index: TermIndex<Item>, need: Need, isAccepted: (document: number) => boolean): Need {
  if (need.kind !== 'word') return need;
  const isThere = (term: string) => index.entries(term).some((entry) => isAccepted(documentOf(entry)));
  const isKnown = need.alternatives.some(({ term }) => isThere(term));
  const [exact] = need.alternatives;
  // What means something is no slip of the pen.
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

/** The best of each of several lists first, then the second best; what stands in two of them once. */
export function inTurn<One>(lists: readonly (readonly One[])[], keyOf: (one: One) => unknown): readonly One[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  const mixed = Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
  const keys = mixed.map(keyOf);
  return lists.length < 2 ? mixed : mixed.filter((_, at) => keys.indexOf(keys[at]) === at);
}
