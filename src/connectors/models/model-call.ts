import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { callEndpoint, type EndpointAnswer, jsonOf } from '../http/endpoint-call.ts';
import type { NamedModel } from './model-book.ts';

/** A request to a model. */
export interface ModelRequest {
  /** Below the base address, such as `/chat/completions`. */
  readonly path: string;
  /** JSON, to which the model's own options are added, or a form with files. */
  readonly body: JsonObject | FormData;
  readonly signal: AbortSignal;
  readonly onPart?: (part: Uint8Array) => void;
}

/** Vectors of some hundred texts, or the events of some ten thousand words. */
const MAX_BYTES = 16_777_216;

/** Asks a model; errors as those of `callEndpoint`, never with the key in them. A request computes and changes nothing. */
export async function askModel(model: NamedModel, request: ModelRequest): Promise<EndpointAnswer> {
  try {
    return await callEndpoint({
      service: model.service,
      url: new URL(`${model.baseUrl}${request.path}`),
      method: 'POST',
      headers: headersOf(model, request.body),
      body: withOptions(model, request.body),
      isActing: false,
      signal: request.signal,
      maxBytes: MAX_BYTES,
      ...(request.onPart && { onPart: request.onPart }),
    });
  } catch (error) {
    throw withoutKey(error, model.key);
  }
}

/** The JSON object of a model's answer. SERVICE_REFUSED when it is none, or when it is an error under a status of success. */
export function answerOf(model: NamedModel, answer: Pick<EndpointAnswer, 'status' | 'body'>): JsonObject {
  const json = jsonOf(model, answer);
  if (!isJsonObject(json)) throw unusable(model, 'with JSON that is no object');
  if (isJsonObject(json.error)) throw unusable(model, `an error: ${String(json.error.message ?? 'without a reason').slice(0, 300)}`);
  return json;
}

/** SERVICE_REFUSED for an answer that is not what the API promises. */
export function unusable({ service, name }: NamedModel, what: string): AtmoError {
  return new AtmoError('SERVICE_REFUSED', `${service} answered ${what}, asked for the model ${name}; is its task right?`, { model: name });
}

/** The owner's options win over what a caller asks for. */
function withOptions({ options }: NamedModel, body: ModelRequest['body']): string | FormData {
  if (!(body instanceof FormData)) return JSON.stringify({ ...body, ...options });
  for (const [name, value] of Object.entries(options)) body.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  return body;
}

/** `fetch` writes the type of a form itself, with its boundary. */
function headersOf({ key }: NamedModel, body: ModelRequest['body']): Readonly<Record<string, string>> {
  return {
    accept: 'application/json, text/event-stream',
    ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };
}

/** Some services repeat the key that they refuse. */
function withoutKey(error: unknown, key: string | undefined): unknown {
  if (!(error instanceof AtmoError) || key === undefined || !error.message.includes(key)) return error;
  return new AtmoError(error.code, error.message.replaceAll(key, '[key]'), error.details);
}
