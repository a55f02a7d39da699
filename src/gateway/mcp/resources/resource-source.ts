import { writtenOut } from '../../../core/foreign-text.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
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
  told(listener: McpListener): (uri: string) => boolean;
  /** Values for a variable of one of its templates; undefined for a template or variable that is none of its own. */
  values(uriTemplate: string, variable: string, caller: McpCaller): readonly string[] | undefined;
}

/** A JSON value as the contents of a resource. */
export function jsonContents(uri: string, value: JsonObject | object): ResourceContents {
  return { uri, mimeType: 'application/json', text: JSON.stringify(writtenOut(value as Json)) };
}
