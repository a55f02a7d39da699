import type { Need } from './need.ts';
import { documentOf, type TermIndex, weightOf } from './term-index.ts';

/** A document and what it scored. */
export interface Scored {
  readonly document: number;
  readonly score: number;
}

/** How much of the score rests on how many of the needs are met. */
const COVERAGE_SHARE = 0.5;

/** Adds up, need by need, how well the documents of one index meet a query. */
export class Scores<Item extends object> {
  readonly #index: TermIndex<Item>;
  readonly #isAccepted: (document: number) => boolean;
  readonly #isCandidate: Uint8Array;
  readonly #candidates: number[] = [];
  readonly #sums: Float64Array;
  readonly #covered: Float64Array;
  /** What the need that is being added brings each document, the best alternative so far. */
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

  /** How many documents can be found. */
  get count(): number {
    return this.#candidates.length;
  }

  /** Documents that meet the need can be found. */
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

  /** Counts a need: each candidate by the best alternative that it has, a word by how few candidates have it. */
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
      this.#sums[document] = at(this.#sums, document) + at(this.#current, document);
      if (isCounted) this.#covered[document] = at(this.#covered, document) + most;
      this.#current[document] = 0;
    }
  }

  /** The best candidates, at most `limit`. */
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
    const share = this.#worth === 0 ? 1 : at(this.#covered, document) / this.#worth;
    return at(this.#sums, document) * (1 - COVERAGE_SHARE + COVERAGE_SHARE * share);
  }

  /** 0 for what no candidate has. */
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
      const before = at(this.#current, document);
      if (before === 0) met.push(document);
      if (score > before) this.#current[document] = score;
    }
  }
}

function at(values: Float64Array, place: number): number {
  return values[place] ?? 0;
}
