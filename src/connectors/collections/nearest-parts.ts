import { setImmediate } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.ts';
import type { CollectionStore, StoredPart } from './collection-store.ts';
import { fitsFilter } from './metadata-filter.ts';
import { cosine } from './unit-vector.ts';

/** What a search looks for. */
export interface NearestQuery {
  readonly collection: string;
  readonly vector: Float32Array;
  readonly limit: number;
  /** Cosine, 0 to 1. */
  readonly minScore: number;
  readonly filter: JsonObject;
  readonly signal: AbortSignal;
}

/** A part with how near it is, 0 to 1. */
export interface NearPart extends Omit<StoredPart, 'vector' | 'number'> {
  readonly score: number;
}

/** How many parts are looked at before other work gets its turn: some milliseconds on a Pi. */
const PAGE = 256;

/** The parts of a collection that are nearest to a vector, the nearest first, and how many were compared. */
export async function nearestParts(
  store: CollectionStore,
  { collection, vector, limit, minScore, filter, signal }: NearestQuery,
): Promise<{ readonly parts: readonly NearPart[]; readonly searched: number }> {
  let found: readonly NearPart[] = [];
  let searched = 0;
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const page = store.page(collection, after, PAGE);
    const fitting = page.filter(({ metadata }) => fitsFilter(metadata, filter));
    searched += fitting.length;
    const near = fitting.map(({ vector: other, number: _, ...part }) => ({ ...part, score: score(vector, other) }));
    found = [...found, ...near.filter((part) => part.score >= minScore)].sort((a, b) => b.score - a.score).slice(0, limit);
    const last = page.at(-1);
    if (!last || page.length < PAGE) return { parts: found, searched };
    after = last.number;
    await setImmediate();
  }
}

/** What points away has nothing to do with it. */
function score(a: Float32Array, b: Float32Array): number {
  return Math.round(Math.min(1, Math.max(0, cosine(a, b))) * 10_000) / 10_000;
}
