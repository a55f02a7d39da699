import type { ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { escapeHidden } from '../../core/untrusted-text.ts';
import { CONTENT_BLOCKS, IMAGE_MEMBER, type RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { McpCaller, ToolRun } from '../mcp-feature.ts';

/** Returns a result as text for the model and as JSON for programs. Hidden characters are escaped. */
export function successResult(found: Json): JsonObject {
  const value = escapeHidden(found);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { content: [{ type: 'text', text }], ...(isJsonObject(value) && { structuredContent: value }) };
}

/** Returns a tool's result in MCP form. MCP content blocks stay as they are, except that hidden characters are escaped. */
export function toolResult(tool: Pick<RegisteredTool, 'definition'> | undefined, result: Json): JsonObject {
  const isContent = tool?.definition.returns[CONTENT_BLOCKS] === true && isJsonObject(result) && Array.isArray(result.content);
  return isContent ? { content: escapeHidden(result.content ?? []) } : (pictureResult(tool, result) ?? successResult(result));
}

/** The first base64 characters of picture formats that models can read. */
const PICTURES: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, 'image/jpeg'],
  [/^iVBORw0KGgo/, 'image/png'],
  [/^R0lGOD[dl]h/, 'image/gif'],
  [/^UklGR.{6}XRUJQ/, 'image/webp'],
];

/** Returns a result with its picture as an image block, since models cannot read base64. Returns undefined if it has no picture. */
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
 * Returns an error for the model: texts (`CODE: message`, then the details) and structured content. A client of MCP 2025-11-25 or before
 * checks structured content, even in errors, against the output schema. If such a client has seen that schema, it gets the texts only.
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
