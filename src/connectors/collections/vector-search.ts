import { setImmediate } from 'node:timers/promises';
import type { Json, JsonObject } from '../../core/json.ts';
import { type CollectionStore, cosine, type StoredPart } from './collection-store.ts';

interface NearestQuery {
  readonly collection: string;
  readonly vector: Float32Array;
  readonly limit: number;
  /** Cosine, 0 to 1. */
  readonly minScore: number;
  readonly filter: JsonObject;
  readonly signal: AbortSignal;
}

/** A part with its nearness to the query, 0 to 1. */
interface ScoredPart extends StoredPart {
  readonly score: number;
}

/** The number of vectors that are compared before other work runs: some milliseconds on a Pi. */
const PAGE = 256;

/** The parts of a collection that are nearest to a vector, the nearest first, and the number of compared parts. */
export async function nearestParts(
  store: CollectionStore,
  { collection, vector, limit, minScore, filter, signal }: NearestQuery,
): Promise<{ readonly parts: readonly ScoredPart[]; readonly searched: number }> {
  const isWanted = documentFilter(store, collection, filter);
  let best: readonly { readonly part: number; readonly score: number }[] = [];
  let searched = 0;
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const page = store.vectors(collection, after, PAGE);
    const wanted = page.filter(({ document }) => isWanted(document));
    searched += wanted.length;
    const near = wanted.map((stored) => ({ part: stored.part, score: similarity(vector, stored.vector) }));
    best = [...best, ...near.filter((candidate) => candidate.score >= minScore)].sort((a, b) => b.score - a.score).slice(0, limit);
    const last = page.at(-1);
    if (!last || page.length < PAGE) break;
    after = last.part;
    await setImmediate();
  }
  const parts = best.flatMap(({ part: number, score }) => {
    const part = store.part(number);
    return part ? [{ ...part, score }] : [];
  });
  return { parts, searched };
}

function documentFilter(store: CollectionStore, collection: string, filter: JsonObject): (document: number) => boolean {
  if (Object.keys(filter).length === 0) return () => true;
  const fitting = store.documents(collection).filter(({ metadata }) => matchesFilter(metadata, filter));
  const numbers = new Set(fitting.map(({ number }) => number));
  return (document) => numbers.has(document);
}

/** A vector that points away is not similar at all. */
function similarity(a: Float32Array, b: Float32Array): number {
  return Math.round(Math.min(1, Math.max(0, cosine(a, b))) * 10_000) / 10_000;
}

/** True when each member of the filter, or one of its values where it is a list, is equal to the member of the document or in its list. */
export function matchesFilter(metadata: JsonObject, filter: JsonObject): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    if (value === undefined) return false;
    const values = [value].flat().map(textOf);
    return [wanted].flat().some((one) => values.includes(textOf(one)));
  });
}

/** Objects are equal with their members in another order. */
function textOf(value: Json): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
