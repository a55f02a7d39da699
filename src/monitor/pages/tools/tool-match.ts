import type { ToolView } from '../../api/hub-types.ts';

/** A tool of a search, with why it is there. */
export interface MatchView extends ToolView {
  /** Higher is better; comparable within one answer only. */
  readonly score?: number;
  readonly reasons?: readonly string[];
}

/** What `GET /api/v1/tools` answers: a page of the registry, or with `q` the best matches and what almost fitted. */
export interface ToolPage {
  readonly tools: readonly MatchView[];
  readonly near_misses?: readonly MatchView[];
  readonly total?: number;
  readonly next_cursor?: string;
}

const SEARCH_LIMIT = 20;
const PAGE_LIMIT = 50;

/** Path of a search, or of one page of the registry where there are no words. */
export function toolsPath(words: string, cursor?: string): string {
  const query =
    words === '' ? new URLSearchParams({ limit: String(PAGE_LIMIT) }) : new URLSearchParams({ q: words, limit: String(SEARCH_LIMIT) });
  if (cursor !== undefined) query.set('cursor', cursor);
  return `/api/v1/tools?${query}`;
}

/** How good a match is beside the best one of its answer, 0 to 100. */
export function strengthPercent({ score = 0 }: MatchView, best: MatchView | undefined): number {
  const top = best?.score ?? 0;
  return top <= 0 ? 0 : Math.round((100 * score) / top);
}
