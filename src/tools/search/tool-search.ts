import { type HomeNames, NO_HOME_NAMES } from '../../core/devices/device-names.ts';
import { isJsonObject } from '../../core/json.ts';
import type { RegisteredTool, ToolDefinition } from '../definition/tool-definition.ts';
import { ACTING_TERM, actionsOfTitle, actionTerm, FOR_KIND_TERM, OF_DEVICE_TERM, READ_TERM } from './actions.ts';
import { CONFIDENT_FROM, confidenceOf, LISTED_FROM, metNeeds, reasonsOf, sortedByScore, weightedByConfidence } from './confidence.ts';
import type { SearchQuery, ToolMatch, ToolSearch, ToolSearchResult } from './home-search.ts';
import { concept, unknownLanguage } from './lexicon.ts';
import { parseQuery } from './query.ts';
import { type Need, NUMBER_TERM, type QueryRequest, unitTerm } from './query-needs.ts';
import { interleave, type Ranked, type Ranking, rank } from './ranking.ts';
import { documentTerms, type ExtraTerm, type FieldText, TermIndex, type TermWeight, typeText } from './term-index.ts';
import { STOP_WORDS } from './vocabulary.ts';
import { wordsOf } from './words.ts';

const NO_FACTS: HomeFacts = { names: NO_HOME_NAMES, device: () => undefined };
const DEFAULT_LIMIT = 10;
/** Minimum score of a match, as a share of the best score. */
const FLOOR = 0.2;
const MAX_NEAR_MISSES = 5;
/** Number of tools to rank beyond the limit, since some are left out later. */
const EXTRA_RANKED = 16;
/** Share of the best score. A tool counts as equally good if its score is below the best score by at most this share. */
const TIE_SHARE = 0.02;
const MAX_CANDIDATES = 8;

interface Found extends ToolMatch {
  readonly isReady: boolean;
  readonly lacks: readonly string[];
}

type Visible = (tool: RegisteredTool) => boolean;

/** Finds tools by words, meanings, actions and units, without a language model. Equal sentences and tools give equal results. */
export class LexicalToolSearch implements ToolSearch {
  readonly #index: TermIndex<RegisteredTool>;

  constructor(facts: HomeFacts = NO_FACTS) {
    this.#index = new TermIndex((tool) => toolTerms(tool, facts), facts.names);
  }

  search(
    { text, limit = DEFAULT_LIMIT, isReady = isConfigured }: SearchQuery,
    tools: readonly RegisteredTool[],
    isVisible: Visible = () => true,
  ): ToolSearchResult {
    const members = this.#index.membersOf(tools);
    const accepts = (document: number): boolean => Boolean(members[document]) && this.#is(document, isVisible);
    const wishes = parseQuery(text);
    const answers = wishes.map((wish) => answerOf(this.#found({ wish, limit, isReady }, accepts), { wish, limit }));
    const matches = interleave(
      answers.map(({ matches: own }) => own),
      toolOf,
    ).slice(0, limit);
    const nearMisses = interleave(
      answers.map((answer) => answer.nearMisses),
      toolOf,
    ).filter((near) => !matches.some(({ tool }) => tool === near.tool));
    const note = unknownLanguage(text, (term) => this.#index.entries(term).length > 0);
    return {
      matches,
      nearMisses: nearMisses.slice(0, MAX_NEAR_MISSES),
      isUnsure: !matches.some(({ confidence }) => confidence >= CONFIDENT_FROM),
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
    { wish, limit, isReady }: { readonly wish: QueryRequest; readonly limit: number; readonly isReady: Visible },
    accepts: (document: number) => boolean,
  ): readonly Found[] {
    const tieBreak = (document: number) => this.#index.item(document)?.id ?? '';
    const areaOf = (document: number) => this.#index.item(document)?.definition.metadata.area;
    const { ranked, needs }: Ranking = rank(
      this.#index,
      { wish, limit: limit + MAX_NEAR_MISSES + EXTRA_RANKED, tieBreak, areaOf },
      accepts,
    );
    const found = ranked.flatMap((one): readonly Found[] => {
      const tool = this.#index.item(one.document);
      if (!tool) return [];
      const lacks = missing(one, needs);
      const confidence = confidenceOf(this.#index, one, { wish, needs });
      const score = weightedByConfidence(one.score, confidence);
      const reasons = [...reasonsOf(metNeeds(this.#index, one, needs)), ...lacks];
      return [{ tool, score, confidence, reasons, lacks, isReady: isReady(tool) }];
    });
    return sortedByScore(found);
  }
}

interface Answer {
  readonly matches: readonly ToolMatch[];
  readonly nearMisses: readonly ToolMatch[];
  readonly whichOne: readonly ToolMatch[];
}

/** Divides the tools found for a request into matches and near misses. */
function answerOf(found: readonly Found[], { wish, limit }: { readonly wish: QueryRequest; readonly limit: number }): Answer {
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
    whichOne: tiedMatches(chosen, wish).map(asMatch),
  };
}

/** If several devices have about equally good tools (or, with `isForAll`, tools with the same title), returns the best tool of each. */
function tiedMatches(chosen: readonly Found[], { isForAll }: QueryRequest): readonly Found[] {
  const [best] = chosen;
  if (best?.tool.definition.metadata.device === undefined) return [];
  const { title } = best.tool.definition.metadata;
  const isAsGood = ({ score, tool }: Found) =>
    score >= best.score * (1 - TIE_SHARE) || (isForAll && tool.definition.metadata.title === title);
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

/** The name and types of a device of this hub. The definitions of its tools lack them. */
interface NamedDevice {
  readonly name: string;
  readonly deviceTypes: readonly string[];
}

interface HomeFacts {
  readonly names: HomeNames;
  /** Returns the device with this id; undefined for devices of other hubs. */
  device(id: string): NamedDevice | undefined;
}

/** Factor for a tool whose title says more than the action: `Turn on for a time`. */
const LONGER_TITLE_WORTH = 0.85;
/** Factor for raw commands of the Matter specification, so that they rank below the tools of profiles. */
const RAW_COMMAND_WORTH = 0.8;

function toolTerms({ definition, hubs }: RegisteredTool, facts: HomeFacts): ReadonlyMap<string, TermWeight> {
  const { name, namespace, description, metadata } = definition;
  const { device: id, area } = metadata;
  const device = id === undefined || hubs ? undefined : facts.device(id);
  const aliases = id === undefined || hubs ? [] : facts.names.deviceAliases(id);
  const places = area === undefined || hubs ? undefined : facts.names.areaNames(area);
  const texts: FieldText[] = [
    { field: 'name', text: name },
    { field: 'title', text: metadata.title },
    { field: 'tag', text: tagText(metadata.tags) },
    { field: 'description', text: description },
    { field: 'namespace', text: namespace },
    { field: 'device', text: device?.name ?? quotedName(description) ?? id ?? '' },
    { field: 'type', text: typeText(device?.deviceTypes ?? []) },
    { field: 'area', text: area ?? '' },
    { field: 'floor', text: places?.floor ?? '' },
    ...aliases.map((text): FieldText => ({ field: 'alias', text })),
    ...(places?.aliases ?? []).map((text): FieldText => ({ field: 'area', text })),
    { field: 'parameter', text: parameterText(definition) },
  ];
  const terms = documentTerms(
    texts.filter(({ text }) => text !== ''),
    [...actionTerms(definition), ...ownerTerms(definition), ...unitTerms(definition)],
  );
  return new Map([...terms, ...equivalentActions(terms)]);
}

/** For each kind of device, actions that mean the same: a sprinkler turns on when its valve opens. */
const EQUIVALENT_ACTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  valve: { open: 'on', close: 'off' },
  cover: { open: 'raise', close: 'lower' },
  fan: { stop: 'off' },
};
const EQUIVALENT_ACTION_WORTH = 0.95;

function equivalentActions(terms: ReadonlyMap<string, TermWeight>): readonly (readonly [string, TermWeight])[] {
  return Object.entries(EQUIVALENT_ACTIONS).flatMap(([kind, deeds]) => {
    if (!terms.has(concept(kind))) return [];
    return Object.entries(deeds).flatMap(([own, other]) => {
      const known = terms.get(actionTerm(own));
      return known && !terms.has(actionTerm(other))
        ? [[actionTerm(other), { ...known, weight: known.weight * EQUIVALENT_ACTION_WORTH }] as const]
        : [];
    });
  });
}

/** Returns the device's name from the quotes in a tool's description. The names of other hubs' devices are known only from there. */
function quotedName(description: string): string | undefined {
  return /"([^"]{1,64})"/.exec(description)?.[1];
}

function actionTerms({ metadata, execution }: ToolDefinition): readonly ExtraTerm[] {
  // A tool that only computes does not read the home, so it has no action term.
  if (!execution.hasSideEffects) return metadata.category === 'computing' ? [] : [{ field: 'action', term: READ_TERM, weight: 1 }];
  const words = wordsOf(metadata.title);
  const { actions, places } = actionsOfTitle(words);
  const hasMore = words.some(({ text }, place) => !places.has(place) && !STOP_WORDS.has(text));
  const worth = (hasMore ? LONGER_TITLE_WORTH : 1) * (metadata.tags.includes('generic') ? RAW_COMMAND_WORTH : 1);
  const deeds = [...actions].map(
    ([action, strength]) => ({ field: 'action', term: actionTerm(action), weight: strength * worth }) as const,
  );
  return [...deeds, { field: 'action', term: ACTING_TERM, weight: 1 }];
}

/** Returns the tags as a text. With the tag `window-covering`, omits the tag `window`, because it would mean another device. */
function tagText(tags: readonly string[]): string {
  const parts = new Set(tags.filter((tag) => PLAIN_TAGS[tag] !== undefined).flatMap((tag) => tag.split('-')));
  return tags.map((tag) => PLAIN_TAGS[tag] ?? (parts.has(tag) ? '' : tag)).join(' ');
}

const PLAIN_TAGS: Readonly<Record<string, string>> = { 'window-covering': 'covering', 'door-lock': 'lock' };

/** Returns OF_DEVICE_TERM for a tool of one device, FOR_KIND_TERM for a tool with the parameter `device_id`, else nothing. */
function ownerTerms({ metadata, parameters }: ToolDefinition): readonly ExtraTerm[] {
  if (metadata.device !== undefined) return [{ field: 'action', term: OF_DEVICE_TERM, weight: 1 }];
  const { properties } = parameters;
  return isJsonObject(properties) && 'device_id' in properties ? [{ field: 'action', term: FOR_KIND_TERM, weight: 1 }] : [];
}

function unitTerms(definition: ToolDefinition): readonly ExtraTerm[] {
  const units = parametersOf(definition).flatMap(([, schema]) => {
    const { type, 'x-unit': unit } = schema;
    if (type !== 'number' && type !== 'integer') return [];
    return typeof unit === 'string' ? [NUMBER_TERM, unitTerm(unit)] : [NUMBER_TERM];
  });
  return [...new Set(units)].map((term) => ({ field: 'value', term, weight: 1 }));
}

/** Returns the names of a tool's parameters, and the words that they allow as values. */
function parameterText(definition: ToolDefinition): string {
  return parametersOf(definition)
    .flatMap(([name, schema]) => [name, ...(Array.isArray(schema.enum) ? schema.enum.filter((one) => typeof one === 'string') : [])])
    .join(' ');
}

function parametersOf({ parameters }: ToolDefinition) {
  const properties = parameters.properties;
  return isJsonObject(properties)
    ? Object.entries(properties).flatMap(([name, schema]) => (isJsonObject(schema) ? [[name, schema] as const] : []))
    : [];
}
