import type { ToolView } from '../api/hub-types.ts';

/** A tool of a search, with why it is there. */
export interface MatchView extends ToolView {
  /** Higher is better; comparable within one answer only. */
  readonly score?: number;
  /** How sure it is that this is meant, 0 to 1. */
  readonly confidence?: number;
  readonly reasons?: readonly string[];
}

/** What `GET /api/v1/tools` answers: a page of the registry, or with `q` the best matches and what almost fitted. */
export interface ToolPage {
  readonly tools: readonly MatchView[];
  readonly near_misses?: readonly MatchView[];
  /** Nothing that was found is sure. */
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

/** What tools a person looks for; an empty text leaves that open. */
export interface ToolQuery {
  readonly words: string;
  /** `agent` for what agents registered, `system` for all else. */
  readonly origin: string;
  readonly category: string;
  readonly area: string;
}

/** The question of an address, such as `#/tools?q=unlock&origin=agent`. */
export function toolQueryOf({ q = '', origin = '', category = '', area = '' }: Readonly<Record<string, string>>): ToolQuery {
  return { words: q, origin, category, area };
}

/** Path of a search, or of one page of the registry where there are no words. */
export function toolsPath({ words, origin, category, area }: ToolQuery, cursor = ''): string {
  const limit = String(words === '' ? PAGE_LIMIT : SEARCH_LIMIT);
  const query = new URLSearchParams({ q: words, created_by: origin, category, area, limit, cursor });
  for (const [name, value] of [...query]) if (value === '') query.delete(name);
  return `/api/v1/tools?${query}`;
}

/** Whether it was registered while the hub ran, so that it can be removed: by an agent, or by the owner. */
export function isRegistered({ id, metadata }: ToolView): boolean {
  return isAgentMade(metadata) || id.startsWith('custom:');
}

/** Whether an agent made it. */
export function isAgentMade(metadata: ToolView['metadata']): boolean {
  return metadata?.created_by === 'agent';
}

/** How sure a match is, 0 to 100. */
export function confidencePercent({ confidence = 0 }: MatchView): number {
  return Math.round(100 * confidence);
}
