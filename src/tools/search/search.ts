import type { Device } from '../../core/devices/device-model.ts';
import type { SensorInfo } from '../../core/devices/reading-store.ts';
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
  /** Such as `area: kitchen`, `action: turn on`; of a near miss also `missing: attic`. */
  readonly reasons: readonly string[];
}

/** What a search of tools finds, best first. */
export interface ToolSearchResult {
  readonly matches: readonly ToolMatch[];
  /** What would fit better than all matches and is not configured, then what almost fitted; the reasons tell what is missing. */
  readonly nearMisses: readonly ToolMatch[];
}

/** Port: finds tools from a sentence. What `isVisible` denies does not exist: it changes no answer, order or score. */
export interface ToolSearch {
  search(query: SearchQuery, tools: readonly RegisteredTool[], isVisible?: (tool: RegisteredTool) => boolean): ToolSearchResult;
}

/** What a home has, as far as the one who searches may know of it. */
export interface SearchedHome {
  readonly devices: readonly Device[];
  readonly sensors: readonly SensorInfo[];
}

/** A device, area or sensor that fits a sentence, and why. */
export interface EntityMatch {
  readonly kind: 'device' | 'area' | 'sensor';
  readonly id: string;
  readonly name: string;
  readonly area?: string;
  /** Above 0, comparable within the answers to one query only. */
  readonly score: number;
  readonly reasons: readonly string[];
}

/** Port: finds devices, areas and sensors from a sentence, best first. */
export interface EntitySearch {
  search(query: SearchQuery, home: SearchedHome): readonly EntityMatch[];
}
