import type { JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { LISTED_FROM, SURE_FROM } from './confidence.ts';
import type { EntityMatch, EntitySearch, SearchedHome, SearchQuery, ToolMatch, ToolSearch, ToolSearchResult } from './search.ts';

/** What there is to be searched, as far as the one who searches may know of it. */
export interface SearchedTools {
  readonly tools: readonly RegisteredTool[];
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  readonly home: SearchedHome;
  /** Reads any sensor by `sensor_id`: the answer to a question whose sensor has no tool of its own. */
  readonly reader?: RegisteredTool | undefined;
}

/** A tool that fits, with parameters where the sentence tells them. */
export interface HomeToolMatch extends ToolMatch {
  readonly params?: JsonObject;
}

/** All that a sentence finds, each list best first. */
export interface HomeSearchResult extends Omit<ToolSearchResult, 'matches'> {
  readonly matches: readonly HomeToolMatch[];
  readonly devices: readonly EntityMatch[];
  readonly readings: readonly EntityMatch[];
  readonly areas: readonly EntityMatch[];
}

/** Finds tools and, beside them, the devices, readings and areas that a sentence is about. */
export class HomeSearch {
  readonly #tools: ToolSearch;
  readonly #entities: EntitySearch;

  constructor({ tools, entities }: { readonly tools: ToolSearch; readonly entities: EntitySearch }) {
    this.#tools = tools;
    this.#entities = entities;
  }

  find(query: SearchQuery, { tools, isVisible, home, reader }: SearchedTools): HomeSearchResult {
    const found = this.#tools.search(query, tools, isVisible);
    const limit = query.limit ?? 10;
    const things = this.#entities.search({ ...query, limit: home.devices.length + home.sensors.length + limit }, home);
    const of = (kind: EntityMatch['kind']) => things.filter((thing) => thing.kind === kind).slice(0, limit);
    const readings = of('sensor');
    const [best] = readings;
    const matches =
      found.isQuestion && reader && best && best.confidence >= LISTED_FROM
        ? withReader(found.matches, { reader, reading: best }).slice(0, limit)
        : found.matches;
    const isSure = matches.some(({ confidence }) => confidence >= SURE_FROM) || (found.isQuestion && (best?.confidence ?? 0) >= SURE_FROM);
    return { ...found, matches, isUnsure: !isSure, readings, devices: of('device'), areas: of('area') };
  }
}

/** The tool that reads any sensor stands where its reading does among the tools that read. */
function withReader(
  matches: readonly ToolMatch[],
  { reader, reading }: { readonly reader: RegisteredTool; readonly reading: EntityMatch },
): readonly HomeToolMatch[] {
  const { id, name, score, confidence, reasons } = reading;
  const match: HomeToolMatch = { tool: reader, score, confidence, reasons: [`reads: ${name}`, ...reasons], params: { sensor_id: id } };
  const others = matches.filter(({ tool }) => tool !== reader);
  const at = others.filter((other) => other.confidence >= confidence).length;
  return others.toSpliced(at, 0, match);
}
