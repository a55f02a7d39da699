import { isErrorCode } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { CallAnswer } from '../calls/call-answer.ts';
import type { ToolResult } from './tool-handler.ts';

const JSON_TYPE = 'application/json';

/** AgentOS ToolExecutionResult (source 002 §2.5). */
export interface ExecutionResult {
  readonly success: boolean;
  readonly output?: Json;
  readonly error?: string;
  readonly contentType?: string;
  readonly details?: JsonObject;
}

/** Where a program has an answer from: a tool that ran, what it kept of an earlier call, or what it made up for a test. */
export type ResponseSource = 'tool' | 'cache' | 'mock';

/** A normalised answer with its hash and where it comes from. */
export interface ToolResponse {
  readonly data: Json;
  /** BLAKE3, hex, of the RFC 8785 form of `data`. */
  readonly response_hash: string;
  readonly metadata: {
    readonly source: ResponseSource | 'error';
    readonly normalized: true;
    readonly duration_ms: number;
    readonly extra: JsonObject;
  };
}

/** The answer in that form; an error is data too. The hub itself keeps no answers and makes none up: who does says so by `source`. */
export function toToolResponse(answer: CallAnswer, source: ResponseSource = 'tool'): ToolResponse {
  const { response_hash, request_id, trace_id, execution } = answer;
  const { duration_ms, ...where } = execution;
  const isError = answer.status === 'error';
  return {
    data: isError ? { ...answer.error } : answer.result,
    response_hash,
    metadata: { source: isError ? 'error' : source, normalized: true, duration_ms, extra: { request_id, trace_id, ...where } },
  };
}

/** The answer as source 000 §9 has it. */
export function toToolResult(answer: CallAnswer): ToolResult {
  if (answer.status === 'success') return { success: true, result: answer.result };
  return { success: false, error: answer.error.message, error_code: answer.error.code };
}

/** The answer as AgentOS has it. */
export function toExecutionResult(answer: CallAnswer): ExecutionResult {
  if (answer.status === 'success') {
    const { result: output, content_type: contentType = JSON_TYPE, details } = answer;
    return { success: true, output, contentType, ...(details && { details }) };
  }
  return { success: false, error: answer.error.message, details: { code: answer.error.code, ...answer.error.details } };
}

/** What an AgentOS tool answered, as a class tool of ours answers. */
export function fromExecutionResult(result: ExecutionResult): ToolResult {
  if (result.success) return { success: true, result: result.output ?? null };
  const { code, ...others } = result.details ?? {};
  const isKnown = isErrorCode(code);
  // A code of the tool's own is kept among its details.
  const details = isKnown ? others : (result.details ?? {});
  return {
    success: false,
    error: result.error ?? 'The tool failed and gave no reason',
    ...(isKnown && { error_code: code }),
    ...(Object.keys(details).length > 0 && { details }),
  };
}
