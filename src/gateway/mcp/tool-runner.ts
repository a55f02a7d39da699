import type { ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../../tools/tool-definition.ts';
import type { CallPort } from '../ports.ts';
import type { McpCaller } from './mcp-feature.ts';

/** A tool, and what to call it with. */
export interface ToolRun {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
}

/** Runs a tool for a client and answers the `CallToolResult`, or what the client's era has instead of one. Never throws for what the call says. */
export type ToolRunner = (run: ToolRun, caller: McpCaller) => Promise<JsonObject>;

/** Runs tools through the pipeline of every door and waits for the answer. */
export function pipelineRunner(pipeline: Pick<CallPort, 'call'>): ToolRunner {
  return async ({ tool, params }, caller) => {
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
    return answer.status === 'success' ? successResult(answer.result) : errorResult(answer.error, caller);
  };
}

/** A result as text for the model, and as it is for programs. */
export function successResult(value: Json): JsonObject {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { content: [{ type: 'text', text }], ...(isJsonObject(value) && { structuredContent: value }) };
}

/**
 * A failed call is a result too: the model reads `CODE: message` and what the error knows besides, such as the candidates.
 * Clients of the handshake era hold even an error against the tool's output schema, so that they get it as text alone.
 */
export function errorResult({ code, message, details, retryable }: ErrorBody, { era }: Pick<McpCaller, 'era'>): JsonObject {
  const body = { code, message, details, retryable };
  const hasDetails = Object.keys(details).length > 0;
  const content = [{ type: 'text', text: `${code}: ${message}` }, ...(hasDetails ? [{ type: 'text', text: JSON.stringify(details) }] : [])];
  return { content, isError: true, ...(era === 'modern' && { structuredContent: body }) };
}
