import type { Device } from '../../core/devices/device-model.ts';
import type { SensorInfo } from '../../core/devices/sensor-readings.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { CONFIDENT_FROM, LISTED_FROM } from './confidence.ts';

/** What somebody looks for, in their own words. */
export interface SearchQuery {
  readonly text: string;
  /** Default 10. */
  readonly limit?: number;
  /** False for what nobody can call before the owner configures something, which is no match; default: what `missingSetting` says. */
  readonly isReady?: (tool: RegisteredTool) => boolean;
}

/** A tool that fits a sentence, and why. */
export interface ToolMatch {
  readonly tool: RegisteredTool;
  /** Above 0, comparable within the answers to one query only. */
  readonly score: number;
  /** How sure it is that this is meant, 0 to 1; comparable between queries. */
  readonly confidence: number;
  /** Such as `area: kitchen`, `action: turn on`; of a near miss also `missing: attic`. */
  readonly reasons: readonly string[];
}

/** What a search of tools finds, best first. */
export interface ToolSearchResult {
  readonly matches: readonly ToolMatch[];
  /** What would fit better than all matches and is not configured, then what almost fitted; the reasons tell what is missing. */
  readonly nearMisses: readonly ToolMatch[];
  /** No match is sure enough to be called without asking. */
  readonly isUnsure: boolean;
  /** Tools of several devices that fit as well as the best: whoever said the sentence knows which one is meant. */
  readonly whichOne: readonly ToolMatch[];
  /** All of several things are meant: `turn all lights off`. */
  readonly isForAll: boolean;
  /** A question about how things are, which readings answer. */
  readonly isQuestion: boolean;
  /** What to say where the sentence is in a language that the search does not know. */
  readonly note?: string;
}

/** Port: finds tools from a sentence. What `isVisible` denies does not exist: it changes no answer, order or score. */
export interface ToolSearch {
  search(query: SearchQuery, tools: readonly RegisteredTool[], isVisible?: (tool: RegisteredTool) => boolean): ToolSearchResult;
}

/** A device as far as a search looks at it. */
export interface SearchedDevice extends Pick<Device, 'id' | 'name' | 'deviceTypes'> {
  readonly area?: string;
  /** Maker and product are not known of a device of another hub. */
  readonly vendor?: { readonly name: string };
  readonly product?: { readonly name: string };
  /** The hub that has it, where that is another one. */
  readonly node?: HubId;
}

/** What a home has, as far as the one who searches may know of it. */
export interface SearchedHome {
  readonly devices: readonly SearchedDevice[];
  readonly sensors: readonly SensorInfo[];
}

/** A device, area or sensor that fits a sentence, and why. */
export interface EntityMatch {
  readonly kind: 'device' | 'area' | 'sensor';
  readonly id: string;
  readonly name: string;
  readonly area?: string;
  /** The hub that has it, where this one has nothing of the kind. */
  readonly node?: HubId;
  /** Above 0, comparable within the answers to one query only. */
  readonly score: number;
  /** How sure it is that this is meant, 0 to 1; comparable between queries. */
  readonly confidence: number;
  readonly reasons: readonly string[];
}

/** Port: finds devices, areas and sensors from a sentence, best first. */
export interface EntitySearch {
  search(query: SearchQuery, home: SearchedHome): readonly EntityMatch[];
}

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
