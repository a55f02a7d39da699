import { nearTerms } from './near-terms.ts';
import type { Need } from './need.ts';
import { documentOf, type TermIndex, weightOf } from './term-index.ts';

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

/** How much of the score rests on how many of the needs are met. */
const COVERAGE_SHARE = 0.5;

/**
 * The documents that meet a query, best first, at most `limit`. Everything is counted over those documents alone that
 * `accepts` allows: how rare a word is among hidden ones changes nothing.
 */
export function rank<Item extends object>(
  index: TermIndex<Item>,
  query: { readonly needs: readonly Need[]; readonly limit: number; readonly tieBreak: (document: number) => string },
  accepts: (document: number) => boolean,
): Ranking {
  const verdicts = new Int8Array(index.bound);
  const isAccepted = (document: number): boolean => {
    const known = verdicts[document] ?? 0;
    if (known !== 0) return known > 0;
    const verdict = accepts(document);
    verdicts[document] = verdict ? 1 : -1;
    return verdict;
  };
  const needs = query.needs.map((need) => withNearTerms(index, need, isAccepted));
  const scorer = new Scorer(index, isAccepted);
  const total = scorer.countCandidates(needs);
  for (const need of needs) scorer.add(need, total);
  return { ranked: scorer.best(needs, query), needs };
}

/** A word that no accepted document has is taken for those that look nearly like it. */
function withNearTerms<Item extends object>(index: TermIndex<Item>, need: Need, isAccepted: (document: number) => boolean): Need {
  if (need.kind !== 'word') return need;
  const isKnown = need.alternatives.some(({ term }) => index.entries(term).some((entry) => isAccepted(documentOf(entry))));
  const [exact] = need.alternatives;
  if (isKnown || !exact) return need;
  const near = nearTerms(exact.term, index.terms());
  return near.length === 0 ? need : { ...need, alternatives: [...need.alternatives, ...near] };
}

class Scorer<Item extends object> {
  readonly #index: TermIndex<Item>;
  readonly #isAccepted: (document: number) => boolean;
  readonly #scores: Float64Array;
  readonly #covered: Float64Array;
  readonly #ofNeed: Float64Array;
  readonly #touched: number[] = [];
  readonly #isTouched: Uint8Array;
  #worth = 0;

  constructor(index: TermIndex<Item>, isAccepted: (document: number) => boolean) {
    this.#index = index;
    this.#isAccepted = isAccepted;
    this.#scores = new Float64Array(index.bound);
    this.#covered = new Float64Array(index.bound);
    this.#ofNeed = new Float64Array(index.bound);
    this.#isTouched = new Uint8Array(index.bound);
  }

  /** How many documents meet any need. */
  countCandidates(needs: readonly Need[]): number {
    for (const { alternatives } of needs) for (const { term } of alternatives) this.#touch(term);
    return this.#touched.length;
  }

  /** Counts a need: each document by the best alternative that it has. */
  add(need: Need, total: number): void {
    let most = 0;
    const met: number[] = [];
    for (const { term, strength } of need.alternatives) {
      const entries = this.#index.entries(term).filter((entry) => this.#isAccepted(documentOf(entry)));
      if (entries.length === 0) continue;
      const worth = need.weight * strength * (need.kind === 'word' ? Math.log(1 + total / entries.length) : 1);
      most = Math.max(most, need.weight * (need.kind === 'word' ? Math.log(1 + total / entries.length) : 1));
      for (const entry of entries) {
        const document = documentOf(entry);
        const score = worth * weightOf(entry);
        const before = this.#ofNeed[document] ?? 0;
        if (before === 0) met.push(document);
        if (score > before) this.#ofNeed[document] = score;
      }
    }
    if (need.kind !== 'hint') this.#worth += most;
    for (const document of met) {
      this.#scores[document] = (this.#scores[document] ?? 0) + (this.#ofNeed[document] ?? 0);
      if (need.kind !== 'hint') this.#covered[document] = (this.#covered[document] ?? 0) + most;
      this.#ofNeed[document] = 0;
    }
  }

  best(
    needs: readonly Need[],
    { limit, tieBreak }: { readonly limit: number; readonly tieBreak: (document: number) => string },
  ): readonly Ranked[] {
    const final = (document: number) => (this.#scores[document] ?? 0) * this.#coverage(document);
    const scored = this.#touched.map((document) => ({ document, score: final(document) })).filter(({ score }) => score > 0);
    scored.sort((a, b) => b.score - a.score || (tieBreak(a.document) < tieBreak(b.document) ? -1 : 1));
    return scored
      .slice(0, limit)
      .map(({ document, score }) => ({ document, score, metBy: needs.map((need) => this.#metBy(need, document)) }));
  }

  #coverage(document: number): number {
    return this.#worth === 0 ? 1 : 1 - COVERAGE_SHARE + (COVERAGE_SHARE * (this.#covered[document] ?? 0)) / this.#worth;
  }

  #metBy({ alternatives }: Need, document: number): number {
    let best = -1;
    let most = 0;
    for (const [place, { term, strength }] of alternatives.entries()) {
      const worth = strength * (this.#index.posting(term, document)?.weight ?? 0);
      if (worth > most) {
        best = place;
        most = worth;
      }
    }
    return best;
  }

  #touch(term: string): void {
    for (const entry of this.#index.entries(term)) {
      const document = documentOf(entry);
      if (this.#isTouched[document] || !this.#isAccepted(document)) continue;
      this.#isTouched[document] = 1;
      this.#touched.push(document);
    }
  }
}
