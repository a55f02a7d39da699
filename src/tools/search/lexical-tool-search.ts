import { NO_HOME_NAMES } from '../../core/devices/home-names.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { bySureness, confidenceOf, LISTED_FROM, SURE_FROM, sureScore } from './confidence.ts';
import { type HomeFacts, toolTerms } from './documents/tool-document.ts';
import { foundNeeds } from './found-needs.ts';
import type { Need, Wish } from './need.ts';
import { inTurn, type Ranked, type Ranking, rank } from './rank.ts';
import { reasonsOf } from './reasons.ts';
import type { SearchQuery, ToolMatch, ToolSearch, ToolSearchResult } from './search.ts';
import { TermIndex } from './term-index.ts';
import { wishesOf } from './understand.ts';
import { unknownLanguage } from './words/language.ts';

const NO_FACTS: HomeFacts = { names: NO_HOME_NAMES, device: () => undefined };
const DEFAULT_LIMIT = 10;
/** What has less than this share of the best score is no match. */
const FLOOR = 0.2;
const MAX_NEAR_MISSES = 5;
/** How many more are ranked: those that are no answer after all are left out. */
const SPARE = 16;
/** Whose score is within this share of the best may be meant as well. */
const TIE = 0.02;
const MAX_CANDIDATES = 8;

interface Found extends ToolMatch {
  readonly isReady: boolean;
  readonly lacks: readonly string[];
}

type Visible = (tool: RegisteredTool) => boolean;

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
    isVisible: Visible = () => true,
  ): ToolSearchResult {
    this.#followNames();
    const members = this.#index.membersOf(tools);
    const accepts = (document: number): boolean => Boolean(members[document]) && this.#is(document, isVisible);
    const wishes = wishesOf(text);
    const answers = wishes.map((wish) => answerOf(this.#found({ wish, limit, isReady }, accepts), { wish, limit }));
    const matches = inTurn(
      answers.map(({ matches: own }) => own),
      toolOf,
    ).slice(0, limit);
    const nearMisses = inTurn(
      answers.map((answer) => answer.nearMisses),
      toolOf,
    ).filter((near) => !matches.some(({ tool }) => tool === near.tool));
    const note = unknownLanguage(text, (term) => this.#index.entries(term).length > 0);
    return {
      matches,
      nearMisses: nearMisses.slice(0, MAX_NEAR_MISSES),
      isUnsure: !matches.some(({ confidence }) => confidence >= SURE_FROM),
      whichOne: answers.flatMap(({ whichOne }) => whichOne),
      isForAll: wishes.some(({ isForAll }) => isForAll),
      isQuestion: wishes.some(({ isQuestion }) => isQuestion),
      ...(note !== undefined && { note }),
    };
  }

  #is(document: number, condition: Visible): boolean {
    const tool = this.#index.item(document);
    return tool !== undefined && condition(tool);
  }

  #found(
    { wish, limit, isReady }: { readonly wish: Wish; readonly limit: number; readonly isReady: Visible },
    accepts: (document: number) => boolean,
  ): readonly Found[] {
    const tieBreak = (document: number) => this.#index.item(document)?.id ?? '';
    const areaOf = (document: number) => this.#index.item(document)?.definition.metadata.area;
    const { ranked, needs }: Ranking = rank(this.#index, { wish, limit: limit + MAX_NEAR_MISSES + SPARE, tieBreak, areaOf }, accepts);
    const found = ranked.flatMap((one): readonly Found[] => {
      const tool = this.#index.item(one.document);
      if (!tool) return [];
      const lacks = missing(one, needs);
      const confidence = confidenceOf(this.#index, one, { wish, needs });
      const score = sureScore(one.score, confidence);
      const reasons = [...reasonsOf(foundNeeds(this.#index, one, needs)), ...lacks];
      return [{ tool, score, confidence, reasons, lacks, isReady: isReady(tool) }];
    });
    return bySureness(found);
  }

  /** Other names for devices and areas change what tools are found by. */
  #followNames(): void {
    const { revision } = this.#facts.names;
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#index.clear();
  }
}

interface Answer {
  readonly matches: readonly ToolMatch[];
  readonly nearMisses: readonly ToolMatch[];
  readonly whichOne: readonly ToolMatch[];
}

/** What of all that was found for a wish is an answer, and what only nearly is. */
function answerOf(found: readonly Found[], { wish, limit }: { readonly wish: Wish; readonly limit: number }): Answer {
  const floor = (found[0]?.score ?? 0) * FLOOR;
  const ready = found.filter(({ isReady }) => isReady);
  const fits = ({ score, confidence }: Found) => score >= floor && confidence >= LISTED_FROM;
  const chosen = ready.slice(0, limit).filter(fits);
  const firstReady = chosen[0] ? found.indexOf(chosen[0]) : found.length;
  const unready = found.slice(0, firstReady).filter((one) => !one.isReady && fits(one));
  const others = ready.filter((one) => !chosen.includes(one) && one.lacks.length > 0);
  return {
    matches: chosen.map(asMatch),
    nearMisses: [...unready.map(withSetting), ...others.map(asMatch)].slice(0, MAX_NEAR_MISSES),
    whichOne: tied(chosen, wish).map(asMatch),
  };
}

/** Tools of several devices that fit as well as the first, or do the same where all are meant; one of each device. */
function tied(chosen: readonly Found[], { isForAll }: Wish): readonly Found[] {
  const [best] = chosen;
  if (best?.tool.definition.metadata.device === undefined) return [];
  const { title } = best.tool.definition.metadata;
  const isAsGood = ({ score, tool }: Found) => score >= best.score * (1 - TIE) || (isForAll && tool.definition.metadata.title === title);
  const near = chosen.filter((one) => one.tool.definition.metadata.device !== undefined && isAsGood(one));
  const byDevice = new Map(near.toReversed().map((one) => [one.tool.definition.metadata.device, one]));
  return byDevice.size > 1 ? [...byDevice.values()].toReversed().slice(0, MAX_CANDIDATES) : [];
}

function asMatch({ tool, score, confidence, reasons }: Found): ToolMatch {
  return { tool, score, confidence, reasons };
}

function withSetting(found: Found): ToolMatch {
  const { reasons, tool } = found;
  return { ...asMatch(found), reasons: [...reasons, `not configured: ${tool.missingSetting?.() ?? 'this hub cannot run it'}`] };
}

function toolOf({ tool }: ToolMatch): RegisteredTool {
  return tool;
}

function isConfigured({ missingSetting }: RegisteredTool): boolean {
  return missingSetting?.() === undefined;
}

function missing({ metBy }: Ranked, needs: readonly Need[]): readonly string[] {
  return needs
    .filter(({ kind, role }, place) => kind !== 'hint' && role !== 'situation' && (metBy[place] ?? -1) < 0)
    .map(({ label }) => `missing: ${label}`);
}
