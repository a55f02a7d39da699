import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf } from '../../core/json.ts';
import type { CallAnswer, CallRequest } from '../request-and-answer.ts';

/** A call in the form of a model API. */
export interface ParsedModelCall {
  readonly form: 'openai' | 'anthropic';
  /** The id that the model gave to the call. The result must repeat it. */
  readonly id: string;
  /** The request for the pipeline, or an error if the model's arguments are not JSON. */
  readonly request: Pick<CallRequest, 'tool' | 'params' | 'requestId'> | AtmoError;
}

const ID = /^[\x21-\x7e]{1,128}$/;
const MAX_NAME_LENGTH = 160;

/**
 * Parses a call in OpenAI's form (`{id, type: 'function', function: {name, arguments}}`, arguments as text or object) or an Anthropic
 * `tool_use` block (`{type, id, name, input}`). Throws VALIDATION_ERROR if the call has another form or no valid id.
 */
export function parseToolCall(value: Json): ParsedModelCall {
  const call = objectOf(value);
  const id = typeof call.id === 'string' && ID.test(call.id) ? call.id : refuse('an id of 1 to 128 visible ASCII characters');
  if (call.type === 'tool_use') return parsed('anthropic', id, { name: nameOf(call.name), arguments: call.input });
  const named = isJsonObject(call.function) ? call.function : refuse('"function" with name and arguments, or the type "tool_use"');
  return parsed('openai', id, { name: nameOf(named.name), arguments: named.arguments });
}

/** Returns the answer as OpenAI's `tool` message or Anthropic's `tool_result` block. Both also have the fields of `ModelCallResult`. */
export function toolCallResult({ form, id }: Pick<ParsedModelCall, 'form' | 'id'>, answer: CallAnswer): JsonObject {
  const { error, ...result } = toModelCallResult({ id }, answer);
  const isError = answer.status === 'error';
  const content = JSON.stringify(isError ? { error: answer.error } : answer.result);
  const shared = { ...result, ...(error !== undefined && { error }), content, is_error: isError };
  return form === 'openai' ? { role: 'tool', ...shared } : { type: 'tool_result', tool_use_id: id, ...shared };
}

function parsed(form: ParsedModelCall['form'], id: string, call: { readonly name: string; readonly arguments: unknown }): ParsedModelCall {
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

/** A model's call in OpenAI's form: the arguments are JSON text or already parsed. */
export interface ModelCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: unknown };
}

/** The result for the model. */
export interface ModelCallResult {
  readonly tool_call_id: string;
  readonly success: boolean;
  readonly output: Json;
  readonly error?: string;
}

/** Converts a model's call to a request with the same id. Throws VALIDATION_ERROR if the arguments are not JSON. */
export function fromModelCall(call: ModelCall): Pick<CallRequest, 'tool' | 'params' | 'requestId'> {
  return { requestId: call.id, tool: call.function.name, params: parseArguments(call.function.arguments) };
}

/** Converts an answer to a result for the model, with the call's id. A failed call becomes a result with `success: false`. */
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
