import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { CallAnswer, CallRequest } from '../calls/call-answer.ts';

/** A call as a model writes it (source 002 §3, OpenAI's form): arguments are JSON text or already parsed. */
export interface ModelCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: unknown };
}

/** What goes back to the model (source 004, ToolResult). */
export interface ModelCallResult {
  readonly tool_call_id: string;
  readonly success: boolean;
  readonly output: Json;
  readonly error?: string;
}

/** The request for the pipeline; its id is the model's. VALIDATION_ERROR when the arguments are not JSON. */
export function fromModelCall(call: ModelCall): Pick<CallRequest, 'tool' | 'params' | 'requestId'> {
  return { requestId: call.id, tool: call.function.name, params: parseArguments(call.function.arguments) };
}

/** The answer with the id of the model's call; an error is a result too, never an exception. */
export function toModelCallResult(call: Pick<ModelCall, 'id'>, answer: CallAnswer): ModelCallResult {
  if (answer.status === 'success') return { tool_call_id: call.id, success: true, output: answer.result };
  return { tool_call_id: call.id, success: false, output: null, error: `${answer.error.code}: ${answer.error.message}` };
}

function parseArguments(given: unknown): unknown {
  if (typeof given !== 'string') return given ?? {};
  if (given.trim() === '') return {};
  try {
    return JSON.parse(given);
  } catch {
    throw new AtmoError('VALIDATION_ERROR', 'The arguments of the call are not JSON; send an object such as {"level":40}');
  }
}
