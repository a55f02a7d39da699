import { areaKey, type HomeNames } from '../../core/devices/device-names.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { escapeHidden } from '../../core/untrusted-text.ts';
import type { McpCaller, McpListener } from '../mcp-feature.ts';

/** One line of `resources/list`. */
export interface ResourceEntry {
  readonly uri: string;
  /** For programs. */
  readonly name: string;
  /** For people; what devices say of themselves is data here. */
  readonly title: string;
  readonly description?: string;
  readonly mimeType: string;
}

/** One line of `resources/templates/list` (RFC 6570). */
export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
}

/** What a resource holds: text, or octets in base64. */
export type ResourceContents =
  | { readonly uri: string; readonly mimeType: string; readonly text: string }
  | { readonly uri: string; readonly mimeType: string; readonly blob: string };

/** Where resources come from. To a caller that may not see one of them it does not exist. */
export interface ResourceSource {
  /** In a fixed order. */
  list(caller: McpCaller): readonly ResourceEntry[];
  templates(caller: McpCaller): readonly ResourceTemplate[];
  /** Undefined for a URI that is none of its own. VALIDATION_ERROR for a query that cannot be. */
  read(uri: string, caller: McpCaller): Promise<readonly ResourceContents[] | undefined>;
  /** Which of its URIs a caller hears the changes of. */
  subscribable(listener: McpListener): (uri: string) => boolean;
  /** Values for a variable of one of its templates; undefined for a template or variable that is none of its own. */
  values(uriTemplate: string, variable: string, caller: McpCaller): readonly string[] | undefined;
}

/** A JSON value as the contents of a resource. */
export function jsonContents(uri: string, value: JsonObject | object): ResourceContents {
  return { uri, mimeType: 'application/json', text: JSON.stringify(escapeHidden(value as Json)) };
}

/** What a URI of the home names; ids are as the client wrote them, decoded. */
export type HomeUri =
  | { readonly kind: 'device'; readonly id: string }
  | { readonly kind: 'area'; readonly id: string }
  /** A sensor now, or its history where that is asked for. */
  | { readonly kind: 'sensor'; readonly id: string; readonly query: string };

const URI = /^atmo:\/\/(device|area|sensor)s\/([^?#]{1,512})(?:\?([^#]{0,1024}))?$/;
/** Last segment of the path to a sensor's history. */
const HISTORY = '/history';

export const deviceUri = (id: string): string => `atmo://devices/${encodeURIComponent(id)}`;
export const areaUri = (name: string): string => `atmo://areas/${encodeURIComponent(name)}`;
/** The slashes of the id stay. */
export const sensorUri = (id: string): string => `atmo://sensors/${id.split('/').map(encodeURIComponent).join('/')}`;

/** The URIs under which changes of a device or of an area are told: by its id or name, and by each alias. */
export function deviceUris(id: string, names: Pick<HomeNames, 'deviceAliases'>): readonly string[] {
  return [id, ...names.deviceAliases(id)].map(deviceUri);
}

export function areaUris(area: string, names: Pick<HomeNames, 'areaNames'>): readonly string[] {
  return [area, areaKey(area), ...names.areaNames(area).aliases].map(areaUri);
}

/** Takes a URI of the home apart; undefined for any other. */
export function parseHomeUri(uri: string): HomeUri | undefined {
  const [, kind, path = '', query] = URI.exec(uri) ?? [];
  const id = decoded(path);
  if (id === undefined) return undefined;
  if (kind === 'sensor') return { kind, id, query: query ?? '' };
  if (query !== undefined) return undefined;
  return kind === 'device' || kind === 'area' ? { kind, id } : undefined;
}

/** The sensor whose history a path names; undefined where it names none. */
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
