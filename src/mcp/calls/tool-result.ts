import type { ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { escapeHidden } from '../../core/untrusted-text.ts';
import { CONTENT_BLOCKS, IMAGE_MEMBER, type RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { McpCaller, ToolRun } from '../mcp-feature.ts';

/** A result as text for the model, and as JSON for programs; neither has a character that a person would not see. */
export function successResult(found: Json): JsonObject {
  const value = escapeHidden(found);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { content: [{ type: 'text', text }], ...(isJsonObject(value) && { structuredContent: value }) };
}

/** What a tool found; blocks of content go to the client as they are. */
export function toolResult(tool: Pick<RegisteredTool, 'definition'> | undefined, result: Json): JsonObject {
  const isContent = tool?.definition.returns[CONTENT_BLOCKS] === true && isJsonObject(result) && Array.isArray(result.content);
  return isContent ? { content: escapeHidden(result.content ?? []) } : (pictureResult(tool, result) ?? successResult(result));
}

/** Base64 of how pictures begin that agents can look at. */
const PICTURES: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, 'image/jpeg'],
  [/^iVBORw0KGgo/, 'image/png'],
  [/^R0lGOD[dl]h/, 'image/gif'],
  [/^UklGR.{6}XRUJQ/, 'image/webp'],
];

/** The picture as one, and all else as text: a model reads nothing from base64. Programs get the whole result. */
function pictureResult(tool: Pick<RegisteredTool, 'definition'> | undefined, result: Json): JsonObject | undefined {
  const member = tool?.definition.returns[IMAGE_MEMBER];
  if (typeof member !== 'string' || !isJsonObject(result)) return undefined;
  const { [member]: data, ...rest } = result;
  const mimeType = typeof data === 'string' && PICTURES.find(([beginning]) => beginning.test(data))?.[1];
  if (typeof data !== 'string' || !mimeType) return undefined;
  const content = [
    { type: 'image', data, mimeType },
    { type: 'text', text: JSON.stringify(escapeHidden(rest)) },
  ];
  return { content, structuredContent: escapeHidden(result) };
}

/**
 * The model reads `CODE: message` and what the error knows besides, such as the candidates. Clients of the handshake era
 * hold even an error against the tool's output schema: where they were given one, they get the text alone.
 */
export function errorResult(
  { code, message, details, retryable }: ErrorBody,
  { era, listing }: Pick<McpCaller, 'era'> & Pick<ToolRun, 'listing'>,
): JsonObject {
  const told = escapeHidden({ message, details }) as { readonly message: string; readonly details: JsonObject };
  const texts = [`${code}: ${told.message}`, ...(Object.keys(details).length > 0 ? [JSON.stringify(told.details)] : [])];
  const content = texts.map((text) => ({ type: 'text', text }));
  const isStructured = era === 'modern' || listing === 'open';
  return { content, isError: true, ...(isStructured && { structuredContent: { code, ...told, retryable } }) };
}
