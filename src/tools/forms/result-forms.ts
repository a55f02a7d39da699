import type { Json, JsonObject } from '../../core/json.ts';
import type { CallAnswer } from '../calls/call-answer.ts';
import type { ToolResult } from './tool-handler.ts';

/** AgentOS ToolExecutionResult (source 002 §2.5). */
export interface ExecutionResult {
  readonly success: boolean;
  readonly output?: Json;
  readonly error?: string;
  readonly contentType?: string;
  readonly details?: JsonObject;
}

/** ToolResponse of source 001 §Normalisation. */
export interface ToolResponse {
  readonly data: Json;
  /** BLAKE3, hex, of the RFC 8785 form of `data`. */
  readonly response_hash: string;
  readonly metadata: {
    readonly source: 'tool' | 'error';
    readonly normalized: true;
    readonly duration_ms: number;
    readonly extra: JsonObject;
  };
}

/** The answer as source 001 has it: an error is data too. */
export function toToolResponse(answer: CallAnswer): ToolResponse {
  const { response_hash, request_id, trace_id, execution } = answer;
  const { duration_ms, ...where } = execution;
  const isError = answer.status === 'error';
  return {
    data: isError ? { ...answer.error } : answer.result,
    response_hash,
    metadata: { source: isError ? 'error' : 'tool', normalized: true, duration_ms, extra: { request_id, trace_id, ...where } },
  };
}

/** The answer as source 000 §9 has it. */
export function toToolResult(answer: CallAnswer): ToolResult {
  if (answer.status === 'success') return { success: true, result: answer.result };
  return { success: false, error: answer.error.message, error_code: answer.error.code };
}

/** The answer as AgentOS has it. */
export function toExecutionResult(answer: CallAnswer): ExecutionResult {
  if (answer.status === 'success') return { success: true, output: answer.result, contentType: 'application/json' };
  return { success: false, error: answer.error.message, details: { code: answer.error.code, ...answer.error.details } };
}

/** What an AgentOS tool answered, as a class tool of ours answers. */
export function fromExecutionResult(result: ExecutionResult): ToolResult {
  if (result.success) return { success: true, result: result.output ?? null };
  const code = result.details?.code;
  return {
    success: false,
    error: result.error ?? 'The tool failed and gave no reason',
    ...(typeof code === 'string' && { error_code: code }),
  };
}
