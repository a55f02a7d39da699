import { areaKey, type HomeNames } from '../../core/devices/device-names.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { escapeHidden } from '../../core/untrusted-text.ts';
import type { McpCaller, McpListener } from '../mcp-feature.ts';

/** A resource in the result of `resources/list`. */
export interface ResourceEntry {
  readonly uri: string;
  /** Identifier for programs; `title` is the name for people. */
  readonly name: string;
  /** Title for people. It may contain names that come from devices. */
  readonly title: string;
  readonly description?: string;
  readonly mimeType: string;
}

/** A template in the result of `resources/templates/list` (RFC 6570). */
export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
}

/** Contents of a resource: text, or bytes in base64. */
export type ResourceContents =
  | { readonly uri: string; readonly mimeType: string; readonly text: string }
  | { readonly uri: string; readonly mimeType: string; readonly blob: string };

/** Port: a source of resources. It offers only resources that the caller may see. */
export interface ResourceSource {
  /** Returns the resources in a fixed order. */
  list(caller: McpCaller): readonly ResourceEntry[];
  templates(caller: McpCaller): readonly ResourceTemplate[];
  /** Resolves with the contents; undefined if this source lacks the URI. Rejects with VALIDATION_ERROR if the URI's query is invalid. */
  read(uri: string, caller: McpCaller): Promise<readonly ResourceContents[] | undefined>;
  /** Returns a function that tells whether the listener can subscribe to a URI. */
  subscribable(listener: McpListener): (uri: string) => boolean;
  /** Returns possible values for a template variable. Returns undefined if the template or the variable belongs to another source. */
  values(uriTemplate: string, variable: string, caller: McpCaller): readonly string[] | undefined;
}

/** Returns a JSON value as the contents of a resource. */
export function jsonContents(uri: string, value: JsonObject | object): ResourceContents {
  return { uri, mimeType: 'application/json', text: JSON.stringify(escapeHidden(value as Json)) };
}

/** Object of the home that a URI names. The id is decoded, but such an object may not exist. */
export type HomeUri =
  | { readonly kind: 'device'; readonly id: string }
  | { readonly kind: 'area'; readonly id: string }
  /** A sensor or its history. */
  | { readonly kind: 'sensor'; readonly id: string; readonly query: string };

const URI = /^atmo:\/\/(device|area|sensor)s\/([^?#]{1,512})(?:\?([^#]{0,1024}))?$/;
/** Last segment of the path to a sensor's history. */
const HISTORY = '/history';

/** Returns the URI of a device. */
export const deviceUri = (id: string): string => `atmo://devices/${encodeURIComponent(id)}`;
/** Returns the URI of an area. */
export const areaUri = (name: string): string => `atmo://areas/${encodeURIComponent(name)}`;
/** Returns the URI of a sensor. Slashes in the id are not encoded. */
export const sensorUri = (id: string): string => `atmo://sensors/${id.split('/').map(encodeURIComponent).join('/')}`;

/** Returns all URIs of a device: by its id, and by each alias. */
export function deviceUris(id: string, names: Pick<HomeNames, 'deviceAliases'>): readonly string[] {
  return [id, ...names.deviceAliases(id)].map(deviceUri);
}

/** Returns the URIs of an area: by its name, its key and its aliases. */
export function areaUris(area: string, names: Pick<HomeNames, 'areaNames'>): readonly string[] {
  return [area, areaKey(area), ...names.areaNames(area).aliases].map(areaUri);
}

/** Parses a URI of the home. Returns undefined for any other URI. */
export function parseHomeUri(uri: string): HomeUri | undefined {
  const [, kind, path = '', query] = URI.exec(uri) ?? [];
  const id = decoded(path);
  if (id === undefined) return undefined;
  if (kind === 'sensor') return { kind, id, query: query ?? '' };
  if (query !== undefined) return undefined;
  return kind === 'device' || kind === 'area' ? { kind, id } : undefined;
}

/** If `id` is the path of a history, returns the id of the sensor. Otherwise returns undefined. */
export function historyOf(id: string): string | undefined {
  return id.endsWith(HISTORY) ? id.slice(0, -HISTORY.length) : undefined;
}

function decoded(path: string): string | undefined {
  try {
    return path === '' ? undefined : decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
