import type { ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../../tools/tool-definition.ts';
import type { CallPort } from '../ports.ts';
import type { McpCaller } from './mcp-feature.ts';

/** A tool, and what to call it with. */
export interface ToolRun {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  /** `typed` where the client was given an output schema to hold the result against. */
  readonly listing: 'typed' | 'open';
}

/** Runs a tool for a client and answers the `CallToolResult`, or what the client's era has instead of one. A failed call is a result too. */
export type ToolRunner = (run: ToolRun, caller: McpCaller) => Promise<JsonObject>;

/** Runs tools through the pipeline of every door and waits for the answer. */
export function pipelineRunner(pipeline: Pick<CallPort, 'call'>): ToolRunner {
  return async ({ tool, params, listing }, caller) => {
    const { principal, trace, signal } = caller;
    const answer = await pipeline.call({
      principal,
      tool: tool.id,
      params,
      traceId: trace.traceId,
      signal,
      ...(caller.session && { sessionId: caller.session.id }),
      onChunk: ({ fraction, note }) => caller.progress(fraction, note),
    });
    if (answer.status === 'success') return successResult(answer.result);
    return errorResult(answer.error, { era: caller.era, listing });
  };
}

/** A result as text for the model, and as it is for programs. */
export function successResult(value: Json): JsonObject {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { content: [{ type: 'text', text }], ...(isJsonObject(value) && { structuredContent: value }) };
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
