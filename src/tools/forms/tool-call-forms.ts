import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { CallAnswer, CallRequest } from '../calls/call-answer.ts';
import { fromModelCall, toModelCallResult } from './model-call.ts';

/** A call as one of the model APIs hands it over. */
export interface ToolCall {
  readonly form: 'openai' | 'anthropic';
  /** The model's own id of the call, which its result has to carry. */
  readonly id: string;
  /** For the pipeline; an error where the model wrote arguments that are not JSON. */
  readonly request: Pick<CallRequest, 'tool' | 'params' | 'requestId'> | AtmoError;
}

const ID = /^[\x21-\x7e]{1,128}$/;
const MAX_NAME_LENGTH = 160;

/**
 * A call from OpenAI's form (`{id, type: 'function', function: {name, arguments}}`, arguments as text or object) or from
 * Anthropic's `tool_use` block (`{type, id, name, input}`). VALIDATION_ERROR for what is neither: it has no id under which
 * a result could go back.
 */
export function parseToolCall(value: Json): ToolCall {
  const call = isJsonObject(value) ? value : {};
  const id = typeof call.id === 'string' && ID.test(call.id) ? call.id : refuse('an id of 1 to 128 visible ASCII characters');
  if (call.type === 'tool_use') return parsed('anthropic', id, { name: nameOf(call.name), arguments: call.input });
  const named = isJsonObject(call.function) ? call.function : refuse('"function" with name and arguments, or the type "tool_use"');
  return parsed('openai', id, { name: nameOf(named.name), arguments: named.arguments });
}

/** The result in the form of the call: OpenAI's `tool` message or Anthropic's `tool_result` block, with the members of source 004's ToolResult. */
export function toolCallResult({ form, id }: Pick<ToolCall, 'form' | 'id'>, answer: CallAnswer): JsonObject {
  const { error, ...result } = toModelCallResult({ id }, answer);
  const isError = answer.status === 'error';
  const content = JSON.stringify(isError ? { error: answer.error } : answer.result);
  const shared = { ...result, ...(error !== undefined && { error }), content, is_error: isError };
  return form === 'openai' ? { role: 'tool', ...shared } : { type: 'tool_result', tool_use_id: id, ...shared };
}

function parsed(form: ToolCall['form'], id: string, call: { readonly name: string; readonly arguments: unknown }): ToolCall {
  try {
    return { form, id, request: fromModelCall({ id, function: call }) };
  } catch (thrown) {
    if (thrown instanceof AtmoError) return { form, id, request: thrown };
    throw thrown;
  }
}

function nameOf(name: Json | undefined): string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH) return name;
  return refuse(`a name of 1 to ${MAX_NAME_LENGTH} characters`);
}

function refuse(wanted: string): never {
  throw new AtmoError(
    'VALIDATION_ERROR',
    `A tool call needs ${wanted}; send {"id", "type": "function", "function": {"name", "arguments"}} or {"type": "tool_use", "id", "name", "input"}`,
  );
}
