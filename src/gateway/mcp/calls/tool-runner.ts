import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { CallRequest } from '../../../tools/calls/call-answer.ts';
import type { CallPort } from '../../ports.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { type ApprovalQuestions, withWayOut } from './approval-questions.ts';
import type { AskingCalls } from './asking-calls.ts';
import { neededCapabilities } from './elicitation.ts';
import { isLong, type LongCalls } from './task-calls.ts';
import { errorResult, toolResult } from './tool-result.ts';
import type { ToolRun, ToolRunner } from './tool-run.ts';

/** What calls are made with. */
export interface RunnerParts {
  readonly pipeline: Pick<CallPort, 'call'>;
  readonly approvals: ApprovalQuestions;
  readonly asking: AskingCalls;
  readonly longCalls: LongCalls;
}

/** Runs tools through the pipeline of every door and waits for the answer, or for a question that has to be answered first. */
export function pipelineRunner(parts: RunnerParts): ToolRunner {
  const { asking } = parts;
  return async (run, caller) => asking.answer({ name: run.tool.id, params: run.params }, caller, (asked) => runOnce(parts, run, asked));
}

async function runOnce({ pipeline, approvals, longCalls }: RunnerParts, run: ToolRun, caller: McpCaller): Promise<JsonObject> {
  const { tool, listing } = run;
  approvals.admit(run, caller);
  const request = requestOf(run, caller);
  const outcome = isLong(tool) ? await longCalls.run({ request, isTyped: listing === 'typed' }, caller) : await pipeline.call(request);
  if (outcome.status === 'running') return outcome.handle;
  if (outcome.status === 'success') return toolResult(tool, outcome.result);
  const { code, message, details } = outcome.error;
  // What a client of 2026-07-28 would have to declare is an error of the protocol, not of the tool.
  if (caller.era === 'modern' && neededCapabilities(outcome.error)) throw new AtmoError(code, message, details);
  return approvals.ask(outcome.error, run, caller) ?? errorResult(withWayOut(outcome.error), { era: caller.era, listing });
}

function requestOf({ tool, params }: ToolRun, caller: McpCaller): CallRequest {
  const { principal, trace, signal, session, ask } = caller;
  return {
    principal,
    tool: tool.id,
    params,
    traceId: trace.traceId,
    signal,
    ...(session && { sessionId: session.id }),
    onChunk: ({ fraction, note }) => caller.progress(fraction, note),
    ...(ask && { onQuestion: ask }),
    onMessage: caller.say,
  };
}
