import { NO_HOME_NAMES } from '../../core/devices/home-names.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { type HomeFacts, toolTerms } from './documents/tool-document.ts';
import { foundNeeds } from './found-needs.ts';
import type { Need } from './need.ts';
import { type Ranked, type Ranking, rank } from './rank.ts';
import { reasonsOf } from './reasons.ts';
import type { SearchQuery, ToolMatch, ToolSearch, ToolSearchResult } from './search.ts';
import { TermIndex } from './term-index.ts';
import { needsOf } from './understand.ts';

const NO_FACTS: HomeFacts = { names: NO_HOME_NAMES, device: () => undefined };
const DEFAULT_LIMIT = 10;
/** What has less than this share of the best score is no match. */
const FLOOR = 0.3;
const MAX_NEAR_MISSES = 5;
/** How many more are ranked where some are left out for want of a setting. */
const SPARE = 16;

/** Finds tools by words, their meanings, actions and units, without any model: the same answer for the same list on every machine. */
export class LexicalToolSearch implements ToolSearch {
  readonly #facts: HomeFacts;
  readonly #index: TermIndex<RegisteredTool>;
  #revision: number;

  constructor(facts: HomeFacts = NO_FACTS) {
    this.#facts = facts;
    this.#index = new TermIndex((tool) => toolTerms(tool, facts));
    this.#revision = facts.names.revision;
  }

  search(
    { text, limit = DEFAULT_LIMIT, isReady = isConfigured }: SearchQuery,
    tools: readonly RegisteredTool[],
    isVisible: (tool: RegisteredTool) => boolean = () => true,
  ): ToolSearchResult {
    this.#followNames();
    const members = this.#index.membersOf(tools);
    const accepts = (document: number): boolean => Boolean(members[document]) && this.#is(document, isVisible);
    const tieBreak = (document: number) => this.#index.item(document)?.id ?? '';
    const needs = needsOf(text);
    const best = (count: number) => rank(this.#index, { needs, limit: count, tieBreak }, accepts);
    const ranking = best(limit + MAX_NEAR_MISSES);
    const isComplete = ranking.ranked.every(({ document }) => this.#is(document, isReady));
    return this.#result(isComplete ? ranking : best(limit + MAX_NEAR_MISSES + SPARE), { limit, isReady });
  }

  #is(document: number, condition: (tool: RegisteredTool) => boolean): boolean {
    const tool = this.#index.item(document);
    return tool !== undefined && condition(tool);
  }

  #result({ ranked, needs }: Ranking, { limit, isReady }: Required<Pick<SearchQuery, 'limit' | 'isReady'>>): ToolSearchResult {
    const floor = (ranked[0]?.score ?? 0) * FLOOR;
    const ready = ranked.filter(({ document }) => this.#is(document, isReady));
    const matches = ready.slice(0, limit).filter(({ score }) => score >= floor);
    const unready = ranked.slice(0, ready[0] ? ranked.indexOf(ready[0]) : undefined).filter(({ score }) => score >= floor);
    const others = ready.slice(matches.length, limit + MAX_NEAR_MISSES).filter((one) => missing(one, needs).length > 0);
    return {
      matches: matches.flatMap((one) => this.#match(one, needs)),
      nearMisses: [...unready.flatMap((one) => this.#unready(one, needs)), ...others.flatMap((one) => this.#match(one, needs))].slice(
        0,
        MAX_NEAR_MISSES,
      ),
    };
  }

  #unready(one: Ranked, needs: readonly Need[]): readonly ToolMatch[] {
    return this.#match(one, needs).map((match) => ({
      ...match,
      reasons: [...match.reasons, `not configured: ${match.tool.missingSetting?.() ?? 'this hub cannot run it'}`],
    }));
  }

  #match(one: Ranked, needs: readonly Need[]): readonly ToolMatch[] {
    const tool = this.#index.item(one.document);
    if (!tool) return [];
    return [
      {
        tool,
        score: Math.round(one.score * 1000) / 1000,
        reasons: [...reasonsOf(foundNeeds(this.#index, one, needs)), ...missing(one, needs)],
      },
    ];
  }

  /** Other names for devices and areas change what tools are found by. */
  #followNames(): void {
    const { revision } = this.#facts.names;
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#index.clear();
  }
}

function isConfigured({ missingSetting }: RegisteredTool): boolean {
  return missingSetting?.() === undefined;
}

function missing({ metBy }: Ranked, needs: readonly Need[]): readonly string[] {
  return needs.filter((need, place) => need.kind !== 'hint' && (metBy[place] ?? -1) < 0).map(({ label }) => `missing: ${label}`);
}
