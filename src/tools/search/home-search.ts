import type { Device } from '../../core/devices/device-model.ts';
import type { SensorInfo } from '../../core/devices/sensor-readings.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { CONFIDENT_FROM, LISTED_FROM } from './confidence.ts';
import { type PlaceRequest, placeRequestsOf } from './place-request.ts';

/** A search query in the words of a person or model. */
export interface SearchQuery {
  readonly text: string;
  /** Maximum number of matches; default: 10. */
  readonly limit?: number;
  /** Returns whether a tool can be called now. If not, it can only be a near miss. Default: true unless a setting is missing. */
  readonly isReady?: (tool: RegisteredTool) => boolean;
}

/** A tool that matches a sentence, with the reasons. */
export interface ToolMatch {
  readonly tool: RegisteredTool;
  /** Score above 0. Only scores from the same query can be compared. */
  readonly score: number;
  /** Probability from 0 to 1 that the tool is meant. It can be compared between queries. */
  readonly confidence: number;
  /** Reasons such as `area: kitchen` or `action: turn on`; a near miss also has a reason such as `missing: attic`. */
  readonly reasons: readonly string[];
}

/** The result of a tool search, with the best matches first. */
export interface ToolSearchResult {
  readonly matches: readonly ToolMatch[];
  /** First, tools that match better than `matches` but cannot be called. Then, partly matching tools. `reasons` says what is missing. */
  readonly nearMisses: readonly ToolMatch[];
  /** True if no match is certain enough to be called without asking the person. */
  readonly isUnsure: boolean;
  /** Tools of different devices that match equally well. The person must say which devices are meant. */
  readonly whichOne: readonly ToolMatch[];
  /** True if the sentence means all devices of a kind: `turn all lights off`. */
  readonly isForAll: boolean;
  /** True if the sentence asks about a state. Readings answer such a sentence. */
  readonly isQuestion: boolean;
  /** A hint if the search does not know the language of the sentence. */
  readonly note?: string;
}

/** Port: finds tools for a sentence. Tools for which `isVisible` returns false do not affect results, order or scores. */
export interface ToolSearch {
  search(query: SearchQuery, tools: readonly RegisteredTool[], isVisible?: (tool: RegisteredTool) => boolean): ToolSearchResult;
}

/** The fields of a device that a search reads. */
export interface SearchedDevice extends Pick<Device, 'id' | 'name' | 'deviceTypes'> {
  readonly area?: string;
  /** The maker of the device. Devices of other hubs have neither `vendor` nor `product`. */
  readonly vendor?: { readonly name: string };
  readonly product?: { readonly name: string };
  /** Id of the other hub that has the device; absent for this hub's devices. */
  readonly node?: HubId;
}

/** The devices and sensors of a home that the caller may see. */
export interface SearchedHome {
  readonly devices: readonly SearchedDevice[];
  readonly sensors: readonly SensorInfo[];
}

/** A device, area or sensor that matches a sentence, with the reasons. */
export interface EntityMatch {
  readonly kind: 'device' | 'area' | 'sensor';
  readonly id: string;
  readonly name: string;
  readonly area?: string;
  /** Id of the other hub that has the object; absent for this hub's objects. */
  readonly node?: HubId;
  /** Score above 0. Only scores from the same query can be compared. */
  readonly score: number;
  /** Probability from 0 to 1 that the sentence means the object. It can be compared between queries. */
  readonly confidence: number;
  readonly reasons: readonly string[];
}

/** Port: finds devices, areas and sensors for a sentence. The best matches come first. */
export interface EntitySearch {
  search(query: SearchQuery, home: SearchedHome): readonly EntityMatch[];
}

/** The tools and objects that the caller may see. */
export interface SearchedTools {
  readonly tools: readonly RegisteredTool[];
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  readonly home: SearchedHome;
  /** The tool that reads any sensor by its `sensor_id`. If the sentence is a question about a sensor, this tool becomes a match. */
  readonly reader?: RegisteredTool | undefined;
  /** The tool that controls all devices of a kind in a place. If the sentence asks for that, this tool becomes a match. */
  readonly controller?: RegisteredTool | undefined;
  /** Returns the floor of an area of this hub. */
  readonly floorOf?: (area: string) => string | undefined;
}

/** A tool that matches, with parameter values from the sentence. */
export interface HomeToolMatch extends ToolMatch {
  readonly params?: JsonObject;
}

/** All results for a sentence. Each list has its best matches first. */
export interface HomeSearchResult extends Omit<ToolSearchResult, 'matches'> {
  readonly matches: readonly HomeToolMatch[];
  readonly devices: readonly EntityMatch[];
  readonly readings: readonly EntityMatch[];
  readonly areas: readonly EntityMatch[];
}

/** Finds tools for a sentence, as well as the devices, sensors and areas that it names. */
export class HomeSearch {
  readonly #parts: { readonly tools: ToolSearch; readonly entities: EntitySearch };

  constructor(parts: { readonly tools: ToolSearch; readonly entities: EntitySearch }) {
    this.#parts = parts;
  }

  find(query: SearchQuery, { tools, isVisible, home, reader, controller, floorOf = () => undefined }: SearchedTools): HomeSearchResult {
    const found = this.#parts.tools.search(query, tools, isVisible);
    const limit = query.limit ?? 10;
    const things = this.#parts.entities.search({ ...query, limit: home.devices.length + home.sensors.length + limit }, home);
    const of = (kind: EntityMatch['kind']) => things.filter((thing) => thing.kind === kind).slice(0, limit);
    const readings = of('sensor');
    const [best] = readings;
    const requests = controller ? placeRequestsOf(query.text, { devices: home.devices, floorOf }) : [];
    const answers =
      found.isQuestion && reader && best && best.confidence >= LISTED_FROM
        ? withReader(found.matches, { reader, reading: best })
        : found.matches;
    const matches = requests.reduce((all, request) => withController(all, { controller, request }), answers).slice(0, limit);
    const isSure =
      matches.some(({ confidence }) => confidence >= CONFIDENT_FROM) || (found.isQuestion && (best?.confidence ?? 0) >= CONFIDENT_FROM);
    return { ...found, matches, isUnsure: !isSure, readings, devices: of('device'), areas: of('area') };
  }
}

/** Inserts the reader tool into the matches. If three matches have at least its confidence, it becomes the fourth. */
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

/** Confidence of a call for a single device, which the device's own tools fit better. */
const FOR_ONE_DEVICE = 0.6;

/** Inserts the tool for a place. It is first if the sentence means several devices, or all. */
function withController(
  matches: readonly HomeToolMatch[],
  { controller, request }: { readonly controller: RegisteredTool | undefined; readonly request: PlaceRequest },
): readonly HomeToolMatch[] {
  if (!controller) return matches;
  const { params, members, isForAll } = request;
  const confidence = isForAll || members > 1 ? 1 : FOR_ONE_DEVICE;
  const score = confidence === 1 ? Math.max(1, ...matches.map((match) => match.score)) : FOR_ONE_DEVICE;
  const reasons = [`place: ${params.area}`, `all: ${params.what}`];
  const others = matches.filter(({ tool, params: other }) => tool !== controller || other !== undefined);
  const at =
    confidence === 1
      ? others.filter(({ tool }) => tool === controller).length
      : others.filter((other) => other.confidence >= confidence).length;
  return others.toSpliced(at, 0, { tool: controller, score, confidence, reasons, params });
}
