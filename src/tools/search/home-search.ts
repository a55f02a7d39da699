import type { Device } from '../../core/devices/device-model.ts';
import type { SensorInfo } from '../../core/devices/sensor-readings.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { CONFIDENT_FROM, LISTED_FROM } from './confidence.ts';

/** A query in the words of a person or model. */
export interface SearchQuery {
  readonly text: string;
  /** Default 10. */
  readonly limit?: number;
  /** Returns false for a tool that needs a setting first, which is no match; by default from `missingSetting`. */
  readonly isReady?: (tool: RegisteredTool) => boolean;
}

/** A tool that fits a sentence, with the reasons. */
export interface ToolMatch {
  readonly tool: RegisteredTool;
  /** Score above 0; comparable only within the result of one query. */
  readonly score: number;
  /** Probability that the tool is meant, 0 to 1; comparable between queries. */
  readonly confidence: number;
  /** Reasons such as `area: kitchen` or `action: turn on`; for a near miss also `missing: attic`. */
  readonly reasons: readonly string[];
}

/** The result of a search for tools, the best first. */
export interface ToolSearchResult {
  readonly matches: readonly ToolMatch[];
  /** Better tools that are not configured, then tools that almost match; the reasons name what is missing. */
  readonly nearMisses: readonly ToolMatch[];
  /** No match is certain enough to be called without a question to the person. */
  readonly isUnsure: boolean;
  /** Tools of several devices that match as well as the best: only the person knows which device is meant. */
  readonly whichOne: readonly ToolMatch[];
  /** True if the sentence means several devices: `turn all lights off`. */
  readonly isForAll: boolean;
  /** The sentence is a question about a state, which readings answer. */
  readonly isQuestion: boolean;
  /** A note for a sentence in a language that the search does not know. */
  readonly note?: string;
}

/** Port: finds tools for a sentence. Tools that `isVisible` denies have no influence on results, order or scores. */
export interface ToolSearch {
  search(query: SearchQuery, tools: readonly RegisteredTool[], isVisible?: (tool: RegisteredTool) => boolean): ToolSearchResult;
}

/** The searched members of a device. */
export interface SearchedDevice extends Pick<Device, 'id' | 'name' | 'deviceTypes'> {
  readonly area?: string;
  /** Absent, as the product, for a device of another hub. */
  readonly vendor?: { readonly name: string };
  readonly product?: { readonly name: string };
  /** The other hub that has it; absent for this hub. */
  readonly node?: HubId;
}

/** The objects of a home that the caller may see. */
export interface SearchedHome {
  readonly devices: readonly SearchedDevice[];
  readonly sensors: readonly SensorInfo[];
}

/** A device, area or sensor that fits a sentence, with the reasons. */
export interface EntityMatch {
  readonly kind: 'device' | 'area' | 'sensor';
  readonly id: string;
  readonly name: string;
  readonly area?: string;
  /** The other hub that has it; absent for this hub. */
  readonly node?: HubId;
  /** Score above 0; comparable only within the result of one query. */
  readonly score: number;
  /** Probability that the sentence means the tool, 0 to 1; comparable between queries. */
  readonly confidence: number;
  readonly reasons: readonly string[];
}

/** Port: finds devices, areas and sensors for a sentence, the best first. */
export interface EntitySearch {
  search(query: SearchQuery, home: SearchedHome): readonly EntityMatch[];
}

/** The tools and objects that the caller may see. */
export interface SearchedTools {
  readonly tools: readonly RegisteredTool[];
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  readonly home: SearchedHome;
  /** The tool that reads any sensor by `sensor_id`, for sensors without a separate tool. */
  readonly reader?: RegisteredTool | undefined;
}

/** A tool that fits, with the parameters that the sentence contains. */
export interface HomeToolMatch extends ToolMatch {
  readonly params?: JsonObject;
}

/** All results for a sentence, each list with the best first. */
export interface HomeSearchResult extends Omit<ToolSearchResult, 'matches'> {
  readonly matches: readonly HomeToolMatch[];
  readonly devices: readonly EntityMatch[];
  readonly readings: readonly EntityMatch[];
  readonly areas: readonly EntityMatch[];
}

/** Finds the tools for a sentence, and the devices, readings and areas in it. */
export class HomeSearch {
  readonly #parts: { readonly tools: ToolSearch; readonly entities: EntitySearch };

  constructor(parts: { readonly tools: ToolSearch; readonly entities: EntitySearch }) {
    this.#parts = parts;
  }

  find(query: SearchQuery, { tools, isVisible, home, reader }: SearchedTools): HomeSearchResult {
    const found = this.#parts.tools.search(query, tools, isVisible);
    const limit = query.limit ?? 10;
    const things = this.#parts.entities.search({ ...query, limit: home.devices.length + home.sensors.length + limit }, home);
    const of = (kind: EntityMatch['kind']) => things.filter((thing) => thing.kind === kind).slice(0, limit);
    const readings = of('sensor');
    const [best] = readings;
    const matches =
      found.isQuestion && reader && best && best.confidence >= LISTED_FROM
        ? withReader(found.matches, { reader, reading: best }).slice(0, limit)
        : found.matches;
    const isSure =
      matches.some(({ confidence }) => confidence >= CONFIDENT_FROM) || (found.isQuestion && (best?.confidence ?? 0) >= CONFIDENT_FROM);
    return { ...found, matches, isUnsure: !isSure, readings, devices: of('device'), areas: of('area') };
  }
}

/** Inserts the tool that reads any sensor at the rank of its reading. */
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
