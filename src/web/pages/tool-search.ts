import type { JsonObject } from '../../core/json.ts';
import type { ToolView } from '../api/hub-types.ts';

/** A tool in a search result, with the reasons of the match. */
export interface MatchView extends ToolView {
  /** Score of the match; higher is better. Only scores in one response can be compared. */
  readonly score?: number;
  /** Confidence of the match, from 0 to 1. */
  readonly confidence?: number;
  readonly reasons?: readonly string[];
  /** Parameters that the sentence names. */
  readonly suggested_parameters?: JsonObject;
}

/** The result of `GET /api/v1/tools`. With `q`, it has the best matches and the near misses; without `q`, a page of the list. */
export interface ToolPage {
  readonly tools: readonly MatchView[];
  readonly near_misses?: readonly MatchView[];
  /** True if no match is certain. */
  readonly unsure?: boolean;
  readonly note?: string;
  readonly which_one?: {
    readonly question: string;
    readonly candidates: readonly { readonly device: string; readonly area: string | null }[];
  };
  readonly readings?: readonly { readonly id: string; readonly name: string; readonly area?: string; readonly confidence: number }[];
  readonly total?: number;
  readonly next_cursor?: string;
}

const SEARCH_LIMIT = 20;
const PAGE_LIMIT = 50;

/** The filter of the tool list. An empty field has no effect. */
export interface ToolQuery {
  readonly words: string;
  /** `agent` selects the tools that agents registered. `system` selects all other tools. An empty text selects both. */
  readonly origin: string;
  readonly category: string;
  readonly area: string;
}

/** Returns the filter in the page's URL, such as `#/tools?q=unlock&origin=agent`. */
export function toolQueryOf({ q = '', origin = '', category = '', area = '' }: Readonly<Record<string, string>>): ToolQuery {
  return { words: q, origin, category, area };
}

/** Returns the URL path for a search. If there are no words to search for, returns the path for one page of the list. */
export function toolsPath({ words, origin, category, area }: ToolQuery, cursor = ''): string {
  const limit = String(words === '' ? PAGE_LIMIT : SEARCH_LIMIT);
  const query = new URLSearchParams({ q: words, created_by: origin, category, area, limit, cursor });
  for (const [name, value] of [...query]) if (value === '') query.delete(name);
  return `/api/v1/tools?${query}`;
}

/** Returns whether an agent or the owner registered the tool while the hub was running. Such a tool can be removed. */
export function isRegistered({ id, metadata }: ToolView): boolean {
  return isAgentMade(metadata) || id.startsWith('custom:');
}

/** Returns the name by which calls mean a tool in the version that the hub prefers. */
export function nameOf({ id }: ToolView): string {
  return id.replace(/@.*$/, '');
}

/** Returns whether an agent made the tool. */
export function isAgentMade(metadata: ToolView['metadata']): boolean {
  return metadata?.created_by === 'agent';
}

/** Returns the confidence of a match in percent. */
export function confidencePercent({ confidence = 0 }: MatchView): number {
  return Math.round(100 * confidence);
}
