import type { Need } from './need.ts';
import { Scores } from './scores.ts';
import { documentOf, type TermIndex } from './term-index.ts';
import { nearTerms } from './words/near-terms.ts';

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
  readonly needs: readonly Need[];
  readonly limit: number;
  /** Orders what has the same score. */
  readonly tieBreak: (document: number) => string;
}

/**
 * The documents that meet a query, best first, at most `limit`. Everything is counted over those documents alone that
 * `accepts` allows: how rare a word is among hidden ones changes nothing.
 */
export function rank<Item extends object>(index: TermIndex<Item>, query: RankQuery, accepts: (document: number) => boolean): Ranking {
  const isAccepted = remembered(accepts, index.bound);
  const needs = query.needs.map((need) => withNearTerms(index, need, isAccepted));
  const scores = new Scores(index, isAccepted);
  const words = needs.filter((need) => need.kind === 'word');
  for (const need of words) scores.addCandidates(need);
  // An action alone fits half of a home: it counts among what the words found, and finds by itself only where they found nothing.
  const others = needs.filter((need) => need.kind !== 'word');
  if (scores.count === 0) for (const need of others) scores.addCandidates(need);
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

/** A word that no accepted document has is taken for those that look nearly like it. */
function withNearTerms<Item extends object>(index: TermIndex<Item>, need: Need, isAccepted: (document: number) => boolean): Need {
  if (need.kind !== 'word') return need;
  const isThere = (term: string) => index.entries(term).some((entry) => isAccepted(documentOf(entry)));
  const isKnown = need.alternatives.some(({ term }) => isThere(term));
  const [exact] = need.alternatives;
  if (isKnown || !exact) return need;
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
