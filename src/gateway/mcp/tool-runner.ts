import type { ErrorBody } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { CallRequest } from '../../tools/calls/call-answer.ts';
import { CONTENT_BLOCKS } from '../../tools/tool-companions.ts';
import type { RegisteredTool } from '../../tools/tool-definition.ts';
import type { CallPort } from '../ports.ts';
import { type ApprovalQuestions, withWayOut } from './approval-questions.ts';
import type { McpCaller } from './mcp-feature.ts';
import { isLong, type LongCalls } from './task-calls.ts';

/** A tool, and what to call it with. */
export interface ToolRun {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  /** `typed` where the client was given an output schema to hold the result against. */
  readonly listing: 'typed' | 'open';
}

/** Runs a tool for a client and answers the `CallToolResult`, or what the client's era has instead of one. A failed call is a result too. */
export type ToolRunner = (run: ToolRun, caller: McpCaller) => Promise<JsonObject>;

/** What calls are made with. */
export interface RunnerParts {
  readonly pipeline: Pick<CallPort, 'call'>;
  readonly approvals: ApprovalQuestions;
  readonly longCalls: LongCalls;
}

/** Runs tools through the pipeline of every door and waits for the answer, or for a question that has to be answered first. */
export function pipelineRunner({ pipeline, approvals, longCalls }: RunnerParts): ToolRunner {
  return async (run, caller) => {
    const { tool, listing } = run;
    approvals.admit(run, caller);
    const request = requestOf(run, caller);
    const outcome = isLong(tool) ? await longCalls.run({ request, isTyped: listing === 'typed' }, caller) : await pipeline.call(request);
    if (outcome.status === 'running') return outcome.handle;
    if (outcome.status === 'success') return resultOf(tool, outcome.result);
    return approvals.ask(outcome.error, run, caller) ?? errorResult(withWayOut(outcome.error), { era: caller.era, listing });
  };
}

function requestOf({ tool, params }: ToolRun, caller: McpCaller): CallRequest {
  const { principal, trace, signal, session } = caller;
  return {
    principal,
    tool: tool.id,
    params,
    traceId: trace.traceId,
    signal,
    ...(session && { sessionId: session.id }),
    onChunk: ({ fraction, note }) => caller.progress(fraction, note),
  };
}

/** What the tool found; blocks of content go to the client as they are. */
function resultOf({ definition: { returns } }: RegisteredTool, result: Json): JsonObject {
  const isContent = returns[CONTENT_BLOCKS] === true && isJsonObject(result) && Array.isArray(result.content);
  return isContent ? { content: result.content ?? [] } : successResult(result);
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
