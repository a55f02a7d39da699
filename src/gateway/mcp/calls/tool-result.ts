import type { ErrorBody } from '../../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts';
import { CONTENT_BLOCKS } from '../../../tools/tool-companions.ts';
import type { RegisteredTool } from '../../../tools/tool-definition.ts';
import type { McpCaller } from '../mcp-feature.ts';
import type { ToolRun } from './tool-run.ts';

/** A result as text for the model, and as it is for programs. */
export function successResult(value: Json): JsonObject {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { content: [{ type: 'text', text }], ...(isJsonObject(value) && { structuredContent: value }) };
}

/** What a tool found; blocks of content go to the client as they are. */
export function toolResult(tool: Pick<RegisteredTool, 'definition'> | undefined, result: Json): JsonObject {
  const isContent = tool?.definition.returns[CONTENT_BLOCKS] === true && isJsonObject(result) && Array.isArray(result.content);
  return isContent ? { content: result.content ?? [] } : successResult(result);
}

/**
 * The model reads `CODE: message` and what the error knows besides, such as the candidates. Clients of the handshake era
 * hold even an error against the tool's output schema: where they were given one, they get the text alone.
 */
export function errorResult(
  { code, message, details, retryable }: ErrorBody,
  { era, listing }: Pick<McpCaller, 'era'> & Pick<ToolRun, 'listing'>,
): JsonObject {
  const texts = [`${code}: ${message}`, ...(Object.keys(details).length > 0 ? [JSON.stringify(details)] : [])];
  const content = texts.map((text) => ({ type: 'text', text }));
  const isStructured = era === 'modern' || listing === 'open';
  return { content, isError: true, ...(isStructured && { structuredContent: { code, message, details, retryable } }) };
}
