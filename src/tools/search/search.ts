import type { Device } from '../../core/devices/device-model.ts';
import type { SensorInfo } from '../../core/devices/reading-store.ts';
import type { HubId } from '../../core/ids.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';

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
