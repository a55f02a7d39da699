import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError, invalidConfig } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { callEndpoint, type EndpointResponse, jsonOf } from '../http-client/endpoint-call.ts';
import { MODEL_TASKS, type ModelConfig, type ModelsConfig, type ModelTask } from './models-config.ts';

/** A configured model, together with the settings of its endpoint. */
export interface NamedModel extends Omit<ModelConfig, 'endpoint'> {
  /** Name in the configuration. */
  readonly name: string;
  /** Name of the endpoint for error messages. */
  readonly service: string;
  /** Base URL of the endpoint, without a trailing slash. */
  readonly baseUrl: string;
  readonly key?: string;
}

/** The configured models. */
export class ModelRegistry {
  readonly #models: ReadonlyMap<string, NamedModel>;
  readonly #defaults: ModelsConfig['defaults'];

  /** Throws CONFIG_INVALID if a model's endpoint is unknown, a task's default model does not have that task, or a secret cannot be read. */
  constructor(config: ModelsConfig | undefined, env: NodeJS.ProcessEnv) {
    const endpoints = Object.entries(config?.endpoints ?? {}).map(([name, { url, key }]) => {
      const secret = key === undefined ? {} : { key: readSecret(key, env) };
      return [name, { service: `The model endpoint ${name}`, baseUrl: url.replace(/\/+$/, ''), ...secret }] as const;
    });
    const byName = new Map(endpoints);
    this.#models = new Map(
      Object.entries(config?.models ?? {}).map(([name, { endpoint, ...model }]) => {
        const found = byName.get(endpoint);
        if (!found)
          throw invalidConfig(`connectors.models.models.${name} names the endpoint ${endpoint}, which is not among the endpoints`);
        return [name, { ...model, ...found, name }];
      }),
    );
    this.#defaults = config?.defaults ?? {};
    for (const [task, name] of Object.entries(this.#defaults)) {
      if (this.names(task as ModelTask).includes(name)) continue;
      throw invalidConfig(`connectors.models.defaults.${task} names ${name}, which is no model with the task ${task}`);
    }
  }

  tasks(): readonly ModelTask[] {
    return MODEL_TASKS.filter((task) => this.#having(task).length > 0);
  }

  /** Returns the names of the models that have a task. */
  names(task: ModelTask): readonly string[] {
    return this.#having(task).map(({ name }) => name);
  }

  /** Returns the model `name` or, if `name` is absent, the task's default model. Throws VALIDATION_ERROR if no such model has the task. */
  pick(task: ModelTask, name: string | undefined): NamedModel {
    const able = this.#having(task);
    const wanted = name ?? this.#defaults[task] ?? able[0]?.name;
    return able.find((model) => model.name === wanted) ?? unknownModel(`${JSON.stringify(wanted)} for ${task}`, this.names(task));
  }

  /** Returns the model `name`, whatever its tasks are. Throws VALIDATION_ERROR if there is no such model; the error lists all models. */
  named(name: string): NamedModel {
    return this.#models.get(name) ?? unknownModel(JSON.stringify(name), [...this.#models.keys()]);
  }

  #having(task: ModelTask): readonly NamedModel[] {
    return [...this.#models.values()].filter(({ tasks }) => tasks.includes(task));
  }
}

function unknownModel(wanted: string, candidates: readonly string[]): never {
  const message = `No model ${wanted} is configured; there is ${candidates.join(', ')}`;
  throw new AtmoError('VALIDATION_ERROR', message, { candidates });
}

interface ModelRequest {
  /** Path below the base URL of the endpoint, such as `/chat/completions`. */
  readonly path: string;
  /** Request body: JSON, or a form with files. `options` from the model's settings are added to either of them. */
  readonly body: JsonObject | FormData;
  readonly signal: AbortSignal;
  readonly onPart?: (part: Uint8Array) => void;
}

/** Maximum size of a response in bytes: enough for vectors of some hundred texts, or an event stream of some ten thousand words. */
const MAX_BYTES = 16_777_216;

/** Sends a request without side effects to a model. Rejects like `callEndpoint`, but no error message contains the API key. */
export async function requestModel(model: NamedModel, request: ModelRequest): Promise<EndpointResponse> {
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

/** Returns the JSON object in a response. Throws SERVICE_REFUSED if the body is no JSON object, or if the object contains an error. */
export function answerOf(model: NamedModel, answer: Pick<EndpointResponse, 'status' | 'body'>): JsonObject {
  const json = jsonOf(model, answer);
  if (!isJsonObject(json)) throw unusableAnswer(model, 'with JSON that is no object');
  if (isJsonObject(json.error)) throw unusableAnswer(model, `an error: ${String(json.error.message ?? 'without a reason').slice(0, 300)}`);
  return json;
}

/** Returns SERVICE_REFUSED for a response that does not follow the API. `what` is the part of the message that describes the response. */
export function unusableAnswer({ service, name }: NamedModel, what: string): AtmoError {
  return new AtmoError('SERVICE_REFUSED', `${service} answered ${what}, asked for the model ${name}; is its task right?`, { model: name });
}

/** Returns the request body with the `options` of the model's settings. An option replaces a field of the same name. */
function withOptions({ options }: NamedModel, body: ModelRequest['body']): string | FormData {
  if (!(body instanceof FormData)) return JSON.stringify({ ...body, ...options });
  for (const [name, value] of Object.entries(options)) body.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  return body;
}

/** Returns the request headers. The content type of a form is not among them: `Response` sets it later, with the form's boundary. */
function headersOf({ key }: NamedModel, body: ModelRequest['body']): Readonly<Record<string, string>> {
  return {
    accept: 'application/json, text/event-stream',
    ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };
}

/** Returns the error without the API key, which some services repeat in their error messages. */
function withoutKey(error: unknown, key: string | undefined): unknown {
  if (!(error instanceof AtmoError) || key === undefined || !error.message.includes(key)) return error;
  return new AtmoError(error.code, error.message.replaceAll(key, '[key]'), error.details);
}
